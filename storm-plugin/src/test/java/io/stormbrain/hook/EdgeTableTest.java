package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class EdgeTableTest {
    private static Map<Integer, long[]> read(EdgeTable table) {
        Map<Integer, long[]> edges = new HashMap<>();
        table.read((peer, tuples, bytes) -> edges.put(peer, new long[] {tuples, bytes}));
        return edges;
    }

    @Test
    void countsEveryTupleOfManyPeers() {
        EdgeTable table = new EdgeTable(values -> 10, 1);
        Map<Integer, Long> expected = new HashMap<>();
        Random random = new Random(3);
        for (int i = 0; i < 300_000; i++) {
            int peer = random.nextInt(5000);
            table.count(peer, List.of());
            expected.merge(peer, 1L, Long::sum);
        }
        Map<Integer, long[]> edges = read(table);
        assertEquals(expected.keySet(), edges.keySet());
        expected.forEach((peer, tuples) -> {
            assertEquals(tuples, edges.get(peer)[0]);
            assertEquals(tuples * 10, edges.get(peer)[1]);
        });
    }

    @Test
    void sizesAboutEverySixtyFourthTuple() {
        int[] calls = new int[1];
        EdgeTable table = new EdgeTable(values -> {
            calls[0]++;
            return 1;
        }, 1);
        for (int i = 0; i < 100_000; i++) {
            table.count(7, List.of());
        }
        assertTrue(calls[0] > 1200 && calls[0] < 2000, "calls " + calls[0]);
    }

    @Test
    void estimatesMixedSizesWell() {
        EdgeTable table = new EdgeTable(values -> (Integer) values.get(0), 1);
        Random random = new Random(5);
        long truth = 0;
        for (int i = 0; i < 500_000; i++) {
            int size = random.nextInt(10) == 0 ? 5000 : 100;
            truth += size;
            table.count(7, List.of(size));
        }
        assertEquals(1.0, read(table).get(7)[1] / (double) truth, 0.1);
    }

    @Test
    void aBusyEdgeIsSampledMoreRarelyOnceThatIsKnown() {
        int[] calls = new int[1];
        EdgeTable table = new EdgeTable(values -> {
            calls[0]++;
            return 1;
        }, 1);
        for (int window = 0; window < 2; window++) {
            calls[0] = 0;
            for (int i = 0; i < 500_000; i++) {
                table.count(7, List.of());
            }
            read(table);
        }
        assertTrue(calls[0] > 300 && calls[0] < 800, "calls " + calls[0]);
    }

    @Test
    void isBounded() {
        EdgeTable table = new EdgeTable(values -> 1, 1);
        for (int peer = 0; peer < 200_000; peer++) {
            table.count(peer, List.of());
        }
        assertTrue(read(table).size() <= 1 << 16);
        table.count(5, List.of());
        assertEquals(2, read(table).get(5)[0], "peers known before still count");
    }

    @Test
    void aReaderSeesSumsThatOnlyGrow() throws Exception {
        EdgeTable table = new EdgeTable(values -> 3, 1);
        AtomicBoolean done = new AtomicBoolean();
        Thread writer = new Thread(() -> {
            for (int i = 0; i < 2_000_000; i++) {
                table.count(i % 300, List.of());
            }
            done.set(true);
        });
        writer.start();
        long before = 0;
        while (!done.get()) {
            long sum = read(table).values().stream().mapToLong(edge -> edge[0]).sum();
            assertTrue(sum >= before, "from " + before + " to " + sum);
            before = sum;
        }
        writer.join();
        assertEquals(2_000_000, read(table).values().stream().mapToLong(edge -> edge[0]).sum());
    }
}
