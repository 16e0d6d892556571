package io.stormbrain.bench;

import io.stormbrain.hook.TrafficHook;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.utils.Utils;

/**
 * What the hook costs per tuple of a bolt that receives, emits and acks, in nanoseconds of CPU (not of the clock, so that
 * other work on the machine does not count). {@code java -cp … io.stormbrain.bench.HookCost [rounds]}; prints one JSON line.
 */
public final class HookCost {
    private static final int TUPLES = 2_000_000;

    private HookCost() {
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 7;
        Map<String, Object> conf = Utils.readDefaultConfig();
        conf.put("topology.brain.metrics.dir", System.getProperty("java.io.tmpdir") + "/hook-cost");
        conf.put("brain.scheduler.address", "127.0.0.1:1");
        TopologyContext context = context(conf);
        TrafficHook hook = new TrafficHook();
        hook.prepare(conf, context);
        double[] nanos = new double[rounds];
        Thread executor = new Thread(() -> {
            for (int round = 0; round < rounds; round++) {
                nanos[round] = run(hook, context);
            }
        }, "Thread-1-b1-executor[2, 2]");
        executor.start();
        executor.join();
        hook.cleanup();
        Arrays.sort(nanos);
        System.out.printf(Locale.ROOT, "{\"ns_per_tuple_median\": %.1f, \"min\": %.1f, \"max\": %.1f, \"rounds\": %d}%n",
                nanos[rounds / 2], nanos[0], nanos[rounds - 1], rounds);
    }

    private static double run(TrafficHook hook, TopologyContext context) {
        byte[] payload = new byte[100];
        Tuple[] tuples = new Tuple[64];
        for (int i = 0; i < tuples.length; i++) {
            tuples[i] = new TupleImpl(context, List.of((long) i, payload), "s", 10 + i % 16, "default");
        }
        List<Integer> targets = List.of(3);
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        long start = threads.getCurrentThreadCpuTime();
        for (int i = 0; i < TUPLES; i++) {
            Tuple tuple = tuples[i & 63];
            hook.emit(new EmitInfo(tuple.getValues(), "default", 2, targets));
            hook.boltAck(new BoltAckInfo(tuple, 2, -1L));
            hook.boltExecute(new BoltExecuteInfo(tuple, 2, -1L));
        }
        return (threads.getCurrentThreadCpuTime() - start) / (double) TUPLES;
    }

    private static TopologyContext context(Map<String, Object> conf) {
        Map<Integer, String> components = new HashMap<>(Map.of(2, "b1", 3, "b2"));
        List<Integer> spouts = new ArrayList<>();
        for (int task = 10; task < 26; task++) {
            components.put(task, "s");
            spouts.add(task);
        }
        return new TopologyContext(ChainTopology.build(2, 1, 100, true, 0), conf, components,
                new HashMap<>(Map.of("s", spouts, "b1", List.of(2), "b2", List.of(3))),
                new HashMap<>(Map.of("s", Map.of("default", new Fields("sequence", "payload")))),
                new HashMap<>(), "cost-1-1", "/code", null, 2, 6700, new ArrayList<>(List.of(2)), new HashMap<>(),
                new HashMap<>(), new HashMap<>(), new HashMap<>(), new AtomicBoolean(true), new StormMetricRegistry());
    }
}
