package io.stormbrain.bench;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;

/**
 * Turns the hooks of a worker on and off in pairs of short spans, in random order within each pair, and writes for every
 * span what was done in it: one JSON line {@code {"pair", "on", "wall_ns", "cpu_ms", "tuples"}}, and a last line with the
 * CPU of the hook's own threads. Settings, all of the topology: {@code bench.switch.file}, {@code .pairs},
 * {@code .millis} (of a span), {@code .warmup.secs}.
 */
final class SwitchClock implements Runnable {
    private static final int SETTLE_MS = 20;
    private static SwitchClock instance;

    private final Map<String, Object> conf;
    private final List<SwitchingHook.Switch> switches = new CopyOnWriteArrayList<>();
    private final List<TopologyContext> bolts = new CopyOnWriteArrayList<>();

    private SwitchClock(Map<String, Object> conf) {
        this.conf = conf;
    }

    static synchronized SwitchClock of(Map<String, Object> conf) {
        if (instance == null) {
            instance = new SwitchClock(conf);
            Thread thread = new Thread(instance, "switch-clock");
            thread.setDaemon(true);
            thread.start();
        }
        return instance;
    }

    void add(TopologyContext context, SwitchingHook.Switch one) {
        switches.add(one);
        if (!context.getThisComponentId().startsWith("__")) {
            bolts.add(context);
        }
    }

    @Override
    public void run() {
        StringBuilder out = new StringBuilder();
        try {
            Random random = new Random(1);
            int pairs = number("bench.switch.pairs", 60);
            int millis = number("bench.switch.millis", 300);
            warmUp(number("bench.switch.warmup.secs", 20) * 1000L);
            double hookThreads = hookThreadsMillis();
            double cpu = cpuMillis();
            long start = System.nanoTime();
            for (int pair = 0; pair < pairs; pair++) {
                boolean first = random.nextBoolean();
                span(out, pair, first, millis);
                span(out, pair, !first, millis);
            }
            out.append(String.format(Locale.ROOT,
                    "{\"hook_threads_ms\": %.1f, \"worker_cpu_ms\": %.1f, \"wall_ns\": %d, \"vm\": \"%s\"}%n",
                    hookThreadsMillis() - hookThreads, cpuMillis() - cpu, System.nanoTime() - start,
                    String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                            .filter(argument -> argument.startsWith("-X")).toList())));
        } catch (Exception e) {
            out.append("{\"error\": \"").append(e.toString().replace('"', '\'')).append("\"}\n");
        }
        try {
            Path file = Path.of(conf.get("bench.switch.file").toString());
            Path aside = Files.writeString(file.resolveSibling(file.getFileName() + ".part"), out);
            Files.move(aside, file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Both ways are warmed up, in turns, so that the compiler has seen both. */
    private void warmUp(long millis) throws Exception {
        for (int i = 0; i < 10; i++) {
            turn(i % 2 == 0);
            Thread.sleep(millis / 10);
        }
    }

    private void span(StringBuilder out, int pair, boolean on, int millis) throws Exception {
        turn(on);
        Thread.sleep(SETTLE_MS);
        long tuples = tuples();
        double cpu = cpuMillis();
        long start = System.nanoTime();
        Thread.sleep(millis);
        out.append(String.format(Locale.ROOT,
                "{\"pair\": %d, \"on\": %b, \"wall_ns\": %d, \"cpu_ms\": %.1f, \"tuples\": %d}%n",
                pair, on, System.nanoTime() - start, cpuMillis() - cpu, tuples() - tuples));
    }

    private void turn(boolean on) throws IllegalAccessException {
        for (SwitchingHook.Switch one : switches) {
            one.turn(on);
        }
    }

    /** Tuples that bolts have executed, by Storm's own counters, which count the same whether a hook is there or not. */
    private long tuples() throws ReflectiveOperationException {
        Field registry = TopologyContext.class.getDeclaredField("metricRegistry");
        registry.setAccessible(true);
        long sum = 0;
        for (TopologyContext bolt : bolts) {
            for (var counter : ((StormMetricRegistry) registry.get(bolt)).getTaskCounters(bolt.getThisTaskId()).entrySet()) {
                if (counter.getKey().contains("__execute-count")) {
                    sum += counter.getValue().getCount();
                }
            }
        }
        return sum;
    }

    /**
     * Of the worker, compiler and garbage collector included, and of all processes below it that live; to the nanosecond,
     * which getProcessCpuTime is not.
     */
    private static double cpuMillis() {
        double sum = threadsMillis(ProcessHandle.current().pid());
        for (ProcessHandle child : ProcessHandle.current().descendants().toList()) {
            sum += threadsMillis(child.pid());
        }
        return sum;
    }

    private static double threadsMillis(long pid) {
        double sum = 0;
        File[] threads = new File("/proc/" + pid + "/task").listFiles();
        for (File thread : threads == null ? new File[0] : threads) {
            try {
                String ran = Files.readString(thread.toPath().resolve("schedstat"));
                sum += Long.parseLong(ran.substring(0, ran.indexOf(' '))) / 1e6;
            } catch (IOException e) {
                // it has ended just now
            }
        }
        return sum;
    }

    private static double hookThreadsMillis() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        double sum = 0;
        for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
            if (thread != null && thread.getThreadName().startsWith("brain-")) {
                sum += Math.max(0, threads.getThreadCpuTime(thread.getThreadId())) / 1e6;
            }
        }
        return sum;
    }

    private int number(String key, int otherwise) {
        Object value = conf.get(key);
        return value == null ? otherwise : Integer.parseInt(value.toString());
    }
}
