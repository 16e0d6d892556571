package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.stormbrain.common.BrainConfig;
import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.TaskLoad;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines and files that docs/metric-log.md promises. */
class MetricLogTest {
    private final WorkerIdentity worker = new WorkerIdentity("wörds-1-17", "super/visor", "host-1", 6700, "6700-loyw3v28", 1000);
    private final WindowJson json = new WindowJson(worker);

    @TempDir
    private Path dir;

    private MetricLog log(long rollBytes, int keep) {
        return new MetricLog(new HookSettings(5, dir, rollBytes, keep, BrainConfig.defaults()), worker);
    }

    private static Window window(long sequence) {
        TaskLoad busy = new TaskLoad(3, "count \"x\"", 12.34567).setExecuted(10).setEmitted(0).setAcked(9).setFailed(1)
                .setExecute_latency_ms(0.25).setProcess_latency_ms(2).setShell_cpu_ms(7.5);
        TaskLoad idle = new TaskLoad(4, "words", 0).setExecuted(0).setEmitted(0).setAcked(0).setFailed(0);
        return new Window(sequence, 1000, 6000,
                List.of(new EdgeCount(4, 3, 10, 500), new EdgeCount(1, 4, 2, 20).setSystem(true)),
                List.of(new Window.Task(busy, "3-3"), new Window.Task(idle, "4-4")));
    }

    private List<JsonNode> parse(String lines) throws IOException {
        assertTrue(lines.endsWith("\n"));
        List<JsonNode> nodes = new ArrayList<>();
        for (String line : lines.split("\n")) {
            nodes.add(new ObjectMapper().readTree(line));
        }
        return nodes;
    }

    @Test
    void everyLineHasTheFieldsOfItsKind() throws Exception {
        NodeGauge.Reading node = new NodeGauge.Reading(2, 2500, 150.5, 8000, 3000, 10, 20);
        List<JsonNode> lines = parse(json.lines(window(7), node, 3, 4));
        assertEquals(6, lines.size());
        for (JsonNode line : lines) {
            assertEquals(1, line.get("v").asInt());
            assertEquals("wörds-1-17", line.get("topology").asText());
            assertEquals("super/visor", line.get("node").asText());
            assertEquals("6700-loyw3v28", line.get("worker").asText());
            assertEquals(7, line.get("seq").asLong());
            assertEquals(1000, line.get("start").asLong());
            assertEquals(6000, line.get("end").asLong());
        }
        assertFields(lines.get(0), "source", "target", "tuples", "bytes");
        assertFields(lines.get(1), "source", "target", "tuples", "bytes", "system");
        assertTrue(lines.get(1).get("system").isBoolean());
        assertFields(lines.get(2), "task", "component", "executor", "cpu_ms", "shell_cpu_ms", "executed", "emitted", "acked",
                "failed", "execute_ms", "process_ms");
        assertEquals(12.346, lines.get(2).get("cpu_ms").asDouble());
        assertEquals("count \"x\"", lines.get(2).get("component").asText());
        assertFields(lines.get(3), "task", "component", "executor", "cpu_ms", "executed", "emitted", "acked", "failed");
        assertTrue(lines.get(3).get("cpu_ms").isFloatingPointNumber());
        assertEquals("node", lines.get(4).get("kind").asText());
        assertFields(lines.get(4), "cores", "mhz", "cpu_percent", "memory_mb", "memory_used_mb", "rx_bytes", "tx_bytes");
        assertEquals("window", lines.get(5).get("kind").asText(), "written last");
        assertFields(lines.get(5), "host", "port", "edges", "tasks", "dropped_reports", "dropped_lines", "heap_mb");
        assertEquals(2, lines.get(5).get("edges").asInt());
        assertEquals(4, lines.get(5).get("dropped_lines").asInt());
    }

    private static void assertFields(JsonNode line, String... own) {
        Set<String> expected = new TreeSet<>(Set.of("v", "kind", "topology", "node", "worker", "seq", "start", "end"));
        expected.addAll(List.of(own));
        Set<String> actual = new TreeSet<>();
        line.fieldNames().forEachRemaining(actual::add);
        assertEquals(expected, actual);
    }

    @Test
    void theFileIsNamedAfterTopologyNodeAndWorker() throws Exception {
        try (MetricLog log = log(1 << 20, 10)) {
            log.append(json.lines(window(0), null, 0, 0));
            log.append(json.lines(window(1), null, 0, 0));
        }
        Path file = dir.resolve("w_rds-1-17/super_visor-6700-loyw3v28-0000.jsonl");
        assertEquals(10, parse(Files.readString(file)).size());
    }

    @Test
    void filesRollAndTheOldestGo() throws Exception {
        try (MetricLog log = log(500, 3)) {
            for (int i = 0; i < 8; i++) {
                log.append("x".repeat(600) + "\n");
            }
        }
        try (var files = Files.list(dir.resolve("w_rds-1-17"))) {
            assertEquals(List.of("0005", "0006", "0007"), files.map(f -> f.getFileName().toString())
                    .map(name -> name.substring(name.length() - 10, name.length() - 6)).sorted().toList());
        }
    }

    @Test
    void afterAnErrorTheNextFileBegins() throws Exception {
        try (MetricLog log = log(1 << 20, 10)) {
            Path parent = dir.resolve("w_rds-1-17");
            Files.writeString(parent, "a file in the way");
            log.append("one\ntwo\n");
            assertEquals(2, log.droppedLines());
            Files.delete(parent);
            log.append("three\n");
            assertEquals(2, log.droppedLines());
            assertEquals("three\n", Files.readString(parent.resolve("super_visor-6700-loyw3v28-0000.jsonl")));
        }
    }

    @Test
    void withoutADirectoryLinesAreDroppedAndCounted() {
        try (MetricLog log = new MetricLog(new HookSettings(5, null, 1, 1, BrainConfig.defaults()), worker)) {
            log.append("one\n");
            assertEquals(1, log.droppedLines());
        }
    }

    @Test
    void onlyOneWorkerOfANodeMeasuresTheMachine() throws Exception {
        Path lock = dir.resolve(".n.lock");
        try (NodeGauge one = new NodeGauge(lock, Path.of("/proc")); NodeGauge two = new NodeGauge(lock, Path.of("/proc"))) {
            NodeGauge.Reading reading = one.read();
            assertTrue(reading.cores() > 0 && reading.memoryMb() > reading.memoryUsedMb(), reading.toString());
            assertEquals(null, two.read());
            one.close();
            assertFalse(two.read() == null, "the other takes over");
        }
    }
}
