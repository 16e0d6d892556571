package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.FakeBrain;
import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.TaskLoad;
import io.stormbrain.thrift.WindowReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.BoltFailInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.policy.WaitStrategyPark;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.JCQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The hook as Storm uses it, with Storm's own contexts, tuples and info objects. */
@Timeout(60)
class TrafficHookTest {
    private static int nextPort = 6700;

    @TempDir
    private Path dir;
    private FakeBrain brain;
    private Worker worker;

    @BeforeEach
    void start() throws Exception {
        brain = new FakeBrain();
        worker = new Worker(nextPort++);
        worker.conf.put("brain.scheduler.address", brain.address());
        worker.conf.put("brain.scheduler.connect.timeout.ms", 10_000);
        worker.conf.put("brain.scheduler.token", "s3cret");
        worker.conf.put("topology.brain.metrics.dir", dir.toString());
        // windows end when the test ends the worker
        worker.conf.put("topology.brain.window.secs", 3600);
    }

    @AfterEach
    void stop() throws Exception {
        brain.close();
    }

    @Test
    void countsWhoTalksToWhom() throws Exception {
        TrafficHook acker = worker.hook(1);
        TrafficHook first = worker.hook(2);
        TrafficHook second = worker.hook(3);
        TrafficHook spout = worker.hook(4);
        spout.spoutAck(new SpoutAckInfo("m", 4, null)); // comes on the executor's thread, which is this one
        for (int i = 0; i < 1000; i++) {
            spout.emit(new EmitInfo(List.of("0123456789"), "default", 4, List.of(2)));
            spout.emit(new EmitInfo(List.of(1L, 2L), "__ack_init", 4, List.of(1)));
            acker.boltExecute(new BoltExecuteInfo(worker.tuple(4, "__ack_init", 1L, 2L), 1, -1L));
            Tuple tuple = worker.tuple(4, "default", "0123456789");
            first.boltExecute(new BoltExecuteInfo(tuple, 2, i % 20 == 0 ? 4L : -1L));
            first.boltAck(new BoltAckInfo(tuple, 2, i % 20 == 0 ? 6L : -1L));
            acker.emit(new EmitInfo(List.of(1L), "__ack_ack", 1, List.of(4)));
            spout.spoutAck(new SpoutAckInfo("m", 4, i % 20 == 0 ? 30L : null));
        }
        second.boltExecute(new BoltExecuteInfo(worker.tuple(-1, "__tick", 5L), 3, -1L));
        second.boltFail(new BoltFailInfo(worker.tuple(4, "default", "x"), 3, -1L));
        end(acker, first, second, spout);

        Map<String, EdgeCount> edges = new HashMap<>();
        Map<Integer, TaskLoad> tasks = total(edges);
        assertEquals(Map.of("4>2", 1000L, "4>1 system", 1000L, "1>4 system", 1000L), tuples(edges));
        // the number of values, the string's class, and ten characters
        assertEquals(12_000, edges.get("4>2").getBytes());
        assertEquals(1000, tasks.get(2).getExecuted());
        assertEquals(1000, tasks.get(2).getAcked());
        assertEquals(4.0, tasks.get(2).getExecute_latency_ms());
        assertEquals(6.0, tasks.get(2).getProcess_latency_ms());
        assertEquals(0, tasks.get(3).getExecuted(), "a tick is no traffic");
        assertEquals(1, tasks.get(3).getFailed());
        assertEquals(1000, tasks.get(4).getEmitted(), "acks of its own are not a spout's output");
        assertEquals(30.0, tasks.get(4).getComplete_latency_ms());
        assertEquals(1000, tasks.get(1).getEmitted());
        assertFalse(tasks.get(2).isSetShell_cpu_ms());
    }

    @Test
    void theReportSaysWhoSendsIt() throws Exception {
        end(worker.hook(1), worker.hook(2), worker.hook(3), worker.hook(4));
        WindowReport report = brain.reports().poll(30, TimeUnit.SECONDS);
        assertEquals(1, report.getProtocol_version());
        assertEquals(Worker.TOPOLOGY, report.getTopology_id());
        assertEquals(0, report.getSequence());
        assertEquals("s3cret", report.getToken());
        assertEquals(4, report.getTasks().size(), "idle tasks are reported too");
        assertTrue(report.getWorker_id().startsWith(report.getNode() + "-" + report.getPort() + "-"));
        assertTrue(report.getEnd_ms() >= report.getStart_ms());
    }

    @Test
    void emitsFromOtherThreadsAreAllCounted() throws Exception {
        TrafficHook spout = worker.hook(4);
        TrafficHook[] rest = {worker.hook(1), worker.hook(2), worker.hook(3)};
        spout.spoutAck(new SpoutAckInfo("m", 4, null));
        Runnable emitter = () -> {
            for (int i = 0; i < 10_000; i++) {
                spout.emit(new EmitInfo(List.of("x"), "default", 4, List.of(2)));
            }
        };
        List<Thread> threads = List.of(new Thread(emitter), new Thread(emitter), new Thread(emitter));
        threads.forEach(Thread::start);
        emitter.run();
        for (Thread thread : threads) {
            thread.join();
        }
        end(rest[0], rest[1], rest[2], spout);
        assertEquals(40_000, total(new HashMap<>()).get(4).getEmitted());
    }

    @Test
    void cpuOfTheExecutorsThreadIsSharedByItsTasks() throws Exception {
        TrafficHook first = worker.hook(2);
        TrafficHook second = worker.hook(3);
        Thread executor = new Thread(() -> {
            java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
            while (threads.getCurrentThreadCpuTime() < TimeUnit.MILLISECONDS.toNanos(200)) {
                Thread.onSpinWait();
            }
            end(first, second); // while this thread lives, as a real executor's does
        }, "Thread-9-count-executor[2, 3]");
        executor.start();
        executor.join();
        Map<Integer, TaskLoad> tasks = total(new HashMap<>());
        assertTrue(tasks.get(2).getCpu_ms() >= 100, "half of 200 ms: " + tasks.get(2).getCpu_ms());
        assertEquals(tasks.get(2).getCpu_ms(), tasks.get(3).getCpu_ms());
    }

    @Test
    void aDirectoryThatCannotBeWrittenCostsLinesOnly() throws Exception {
        Path file = Files.writeString(dir.resolve("a-file"), "in the way");
        worker.conf.put("topology.brain.metrics.dir", file.resolve("below").toString());
        TrafficHook hook = worker.hook(2);
        hook.boltExecute(new BoltExecuteInfo(worker.tuple(4, "default", "x"), 2, -1L));
        end(hook);
        Map<String, EdgeCount> edges = new HashMap<>();
        total(edges);
        assertEquals(Map.of("4>2", 1L), tuples(edges), "the brain still hears of it");
    }

    @Test
    void nonsenseInTheSettingsDoesNotKeepTheTaskFromRunning() throws Exception {
        worker.conf.put("topology.brain.window.secs", "often");
        worker.conf.put("topology.brain.metrics.roll.mb", -3);
        worker.conf.put("brain.scheduler.deadline.ms", "soon");
        TrafficHook hook = worker.hook(2);
        hook.boltExecute(new BoltExecuteInfo(worker.tuple(4, "default", "x"), 2, -1L));
        end(hook);
        assertTrue(Files.list(dir.resolve(Worker.TOPOLOGY)).findAny().isPresent());
    }

    @Test
    void aTupleThatThrowsDoesNotReachTheBolt() throws Exception {
        TrafficHook hook = worker.hook(2);
        hook.boltExecute(new BoltExecuteInfo(null, 2, -1L));
        hook.emit(new EmitInfo(null, null, 2, null));
        hook.boltExecute(new BoltExecuteInfo(worker.tuple(4, "default", "x"), 2, -1L));
        hook.cleanup();
    }

    @Test
    void aWorkerWithoutBrainAndDiskLosesDataButNoTuple() throws Exception {
        worker.conf.put("brain.scheduler.address", "127.0.0.1:1");
        worker.conf.put("topology.brain.metrics.dir", "/proc/no-such-place");
        worker.conf.put("topology.brain.window.secs", 1);
        TrafficHook hook = worker.hook(2);
        BoltExecuteInfo executed = new BoltExecuteInfo(worker.tuple(4, "default", "x"), 2, -1L);
        for (int i = 0; i < 100_000; i++) {
            hook.boltExecute(executed);
        }
        end(hook);
    }

    @Test
    void howFullTheQueueIsIsReported() throws Exception {
        StormMetricRegistry registry = new StormMetricRegistry();
        JCQueue queue = new JCQueue("receive-queue", "receive-queue", 8, 0, 1, new WaitStrategyPark(),
                Worker.TOPOLOGY, "count", List.of(2), 6700, registry);
        for (int i = 0; i < 4; i++) {
            assertTrue(queue.tryPublish("tuple"));
        }
        queue.tryPublishToOverflow("one more");
        TaskLoad load = new TaskLoad(2, "count", 0);
        QueueGauge.of(worker.context(2, registry)).read(load);
        assertEquals(50.0, load.getQueue_percent());
        assertEquals(1, load.getQueue_overflow());
        TaskLoad none = new TaskLoad(3, "count", 0);
        QueueGauge.of(worker.context(3, registry)).read(none);
        assertFalse(none.isSetQueue_percent());
        queue.close();
    }

    @Test
    void theSystemTaskIsLeftOut() throws Exception {
        TrafficHook system = worker.hook(-1);
        system.boltExecute(new BoltExecuteInfo(worker.tuple(4, "default", "x"), -1, -1L));
        system.cleanup();
        assertFalse(Files.exists(dir.resolve(Worker.TOPOLOGY)));
    }

    private static void end(TrafficHook... hooks) {
        for (TrafficHook hook : hooks) {
            hook.cleanup();
        }
    }

    /** The first end of a task closes one window, the last end another: their sums are what the worker counted. */
    private Map<Integer, TaskLoad> total(Map<String, EdgeCount> edges) throws Exception {
        Map<Integer, TaskLoad> tasks = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            WindowReport report = brain.reports().poll(30, TimeUnit.SECONDS);
            assertNotNull(report, "window " + i);
            for (EdgeCount edge : report.getEdges()) {
                String key = edge.getSource_task() + ">" + edge.getTarget_task() + (edge.isSystem() ? " system" : "");
                edges.merge(key, edge, (a, b) -> a.setTuples(a.getTuples() + b.getTuples())
                        .setBytes(a.getBytes() + b.getBytes()));
            }
            report.getTasks().forEach(task -> tasks.merge(task.getTask(), task, TrafficHookTest::sum));
        }
        return tasks;
    }

    private static TaskLoad sum(TaskLoad a, TaskLoad b) {
        a.setCpu_ms(a.getCpu_ms() + b.getCpu_ms());
        a.setExecuted(a.getExecuted() + b.getExecuted());
        a.setEmitted(a.getEmitted() + b.getEmitted());
        a.setAcked(a.getAcked() + b.getAcked());
        a.setFailed(a.getFailed() + b.getFailed());
        return a;
    }

    private static Map<String, Long> tuples(Map<String, EdgeCount> edges) {
        Map<String, Long> tuples = new HashMap<>();
        edges.forEach((key, edge) -> tuples.put(key, edge.getTuples()));
        return tuples;
    }
}
