package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.stormbrain.common.BrainConfig;
import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.NodeLoad;
import io.stormbrain.thrift.TaskLoad;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
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
                .setExecute_latency_ms(0.25).setProcess_latency_ms(2).setShell_cpu_ms(7.5)
                .setQueue_percent(12.5).setQueue_overflow(3);
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
        NodeLoad node = new NodeLoad(2, 2500, 150.5, 8000, 3000, 10, 20).setMachine("b007");
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
                "failed", "execute_ms", "process_ms", "queue_percent", "queue_overflow");
        assertEquals(12.346, lines.get(2).get("cpu_ms").asDouble());
        assertEquals("count \"x\"", lines.get(2).get("component").asText());
        assertFields(lines.get(3), "task", "component", "executor", "cpu_ms", "executed", "emitted", "acked", "failed");
        assertTrue(lines.get(3).get("cpu_ms").isFloatingPointNumber());
        assertEquals("node", lines.get(4).get("kind").asText());
        assertFields(lines.get(4), "cores", "mhz", "cpu_percent", "memory_mb", "memory_used_mb", "rx_bytes", "tx_bytes",
                "machine");
        assertEquals("window", lines.get(5).get("kind").asText(), "written last");
        assertFields(lines.get(5), "host", "port", "edges", "tasks", "dropped_reports", "dropped_lines", "heap_mb",
                "process_cpu_ms");
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
    void aFullDiskCostsLinesThatAreCountedAndWritingGoesOnWhenThereIsRoom() throws Exception {
        Assumptions.assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir.toString()), "needs root");
        try (MetricLog log = log(1 << 20, 10)) {
            Path filler = dir.resolve("filler");
            log.append("before\n");
            fill(filler);
            log.append(("x".repeat(60) + "\n").repeat(300));
            assertEquals(300, log.droppedLines());
            Files.delete(filler);
            log.append("after\n");
            assertEquals(300, log.droppedLines());
            Path second = dir.resolve("w_rds-1-17/super_visor-6700-loyw3v28-0001.jsonl");
            assertEquals("after\n", Files.readString(second), "a file of its own, since the first may end in half a line");
        } finally {
            assertTrue(run("umount", dir.toString()));
        }
    }

    private static void fill(Path file) throws IOException {
        try (var out = Files.newOutputStream(file)) {
            while (true) {
                out.write(new byte[4096]);
            }
        } catch (IOException full) {
            // that is what it is for
        }
    }

    private static boolean run(String... command) throws Exception {
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start().waitFor() == 0;
    }

    @Test
    void onlyOneWorkerOfANodeMeasuresTheMachine() throws Exception {
        Path proc = Path.of("/proc");
        try (NodeGauge one = new NodeGauge(dir, "n", proc); NodeGauge two = new NodeGauge(dir, "n", proc)) {
            assertNull(one.read(), "a use needs two readings");
            NodeLoad load = measured(one);
            assertTrue(load.getCores() > 0 && load.getMemory_mb() > load.getMemory_used_mb(), load.toString());
            assertEquals(Files.readString(proc.resolve("sys/kernel/random/boot_id")).trim(), load.getMachine());
            assertNull(two.read());
            one.close();
            two.read();
            assertNotNull(measured(two), "the other takes over");
        }
    }

    @Test
    void withoutAMetricLogTheMachineIsMeasuredAllTheSame() throws Exception {
        String name = "test-" + ProcessHandle.current().pid();
        try (NodeGauge gauge = new NodeGauge(null, name, Path.of("/proc"))) {
            gauge.read();
            assertNotNull(measured(gauge));
        } finally {
            Files.deleteIfExists(Path.of(System.getProperty("java.io.tmpdir"), "stormbrain-" + name + ".lock"));
        }
    }

    @Test
    void cpuOfOtherProcessesCounts() throws Exception {
        Path proc = Files.createDirectories(dir.resolve("proc/net")).getParent();
        Files.writeString(proc.resolve("net/dev"), "a\nb\n eth0: 100 0 0 0 0 0 0 0 50 0\n   lo: 9 0 0 0 0 0 0 0 9 0\n");
        Files.writeString(proc.resolve("meminfo"), "MemTotal: 2048 kB\nMemAvailable: 1024 kB\n");
        Files.writeString(proc.resolve("cpuinfo"), "cpu MHz : 2400.0\ncpu MHz : 2600.0\n");
        Files.writeString(proc.resolve("stat"), "cpu 100 0 100 5000 5 0 0 0 0 0\n");
        try (NodeGauge gauge = new NodeGauge(dir, "n", proc)) {
            gauge.read();
            Files.writeString(proc.resolve("stat"), "cpu 100000 0 100 5000 900000 0 0 0 0 0\n");
            Files.writeString(proc.resolve("net/dev"), "a\nb\n eth0: 300 0 0 0 0 0 0 0 60 0\n   lo: 99 0 0 0 0 0 0 0 99 0\n");
            NodeLoad load = gauge.read();
            assertTrue(load.getCpu_percent() > 100, "waiting is no work, but this was: " + load);
            assertEquals(200, load.getRx_bytes());
            assertEquals(10, load.getTx_bytes());
            assertEquals(2500, load.getMhz());
            assertEquals(1, load.getMemory_used_mb());
            assertFalse(load.isSetMachine());
        }
    }

    private static NodeLoad measured(NodeGauge gauge) throws InterruptedException {
        Thread.sleep(20); // so that the clock has moved on
        return gauge.read();
    }
}
