package io.stormbrain.hook;

import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.TaskLoad;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Turns the growing sums of the tasks into the differences of one window, scaled where a task was counted only part of
 * the time. Belongs to one thread.
 */
final class WindowCounter {
    private record EdgeKey(int source, int target, boolean system) {
    }

    private final ThreadCpu threadCpu;
    private final ShellCpu shellCpu;
    private final Map<EdgeKey, long[]> edgesBefore = new HashMap<>();
    private final Map<Integer, long[]> talliesBefore = new HashMap<>();
    private final Map<Integer, Long> executedBefore = new HashMap<>();
    private final Map<Integer, Long> failedBefore = new HashMap<>();
    private long sequence;
    private long startMs;

    WindowCounter(ThreadCpu threadCpu, ShellCpu shellCpu, long startMs) {
        this.threadCpu = threadCpu;
        this.shellCpu = shellCpu;
        this.startMs = startMs;
    }

    Window close(Collection<TaskCounters> tasks, long endMs, long nowNs) {
        List<EdgeCount> edges = new ArrayList<>();
        List<Window.Task> loads = new ArrayList<>();
        threadCpu.beginWindow();
        shellCpu.beginWindow(tasks);
        for (TaskCounters counters : tasks) {
            int task = counters.task;
            double scale = counters.gate.scale(nowNs);
            counters.userEdges.read((peer, tuples, bytes) ->
                    edge(edges, new EdgeKey(peer, task, false), tuples, bytes, scale));
            counters.systemEdges.read((peer, tuples, bytes) ->
                    edge(edges, new EdgeKey(peer, task, true), tuples, bytes, scale));
            loads.add(new Window.Task(load(counters, scale), counters.executor.range()));
        }
        edges.sort(Comparator.comparingInt(EdgeCount::getTarget_task).thenComparingInt(EdgeCount::getSource_task));
        loads.sort(Comparator.comparingInt(task -> task.load().getTask()));
        Window window = new Window(sequence++, startMs, Math.max(endMs, startMs), edges, loads);
        startMs = window.endMs();
        return window;
    }

    private void edge(List<EdgeCount> edges, EdgeKey key, long tuples, long bytes, double scale) {
        long[] before = edgesBefore.computeIfAbsent(key, k -> new long[2]);
        if (tuples > before[0] && scale > 0) {
            EdgeCount edge = new EdgeCount(
                    key.source, key.target, scaled(tuples - before[0], scale),
                    scaled(Math.max(0, bytes - before[1]), scale));
            if (key.system) {
                edge.setSystem(true);
            }
            edges.add(edge);
            before[0] = tuples;
            before[1] = bytes;
        }
    }

    private TaskLoad load(TaskCounters counters, double scale) {
        long[] now = counters.tally.readAll();
        long[] before = talliesBefore.getOrDefault(counters.task, new long[now.length]);
        TaskLoad load = new TaskLoad(counters.task, counters.component, threadCpu.millis(counters.executor));
        long executed = counters.executedTuples();
        load.setExecuted(scaled(executed - executedBefore.getOrDefault(counters.task, 0L), scale));
        load.setEmitted(scaled(now[Tally.EMITTED] - before[Tally.EMITTED], scale));
        load.setAcked(scaled(now[Tally.ACKED] - before[Tally.ACKED], scale));
        load.setFailed(now[Tally.FAILED] - failedBefore.getOrDefault(counters.task, 0L)); // each is seen
        failedBefore.put(counters.task, now[Tally.FAILED]);
        if (scale > 0) {
            talliesBefore.put(counters.task, now);
            executedBefore.put(counters.task, executed);
        }
        Double execute = mean(now, before, Tally.EXECUTE_MS, Tally.EXECUTE_SAMPLES);
        if (execute != null) {
            load.setExecute_latency_ms(execute);
        }
        Double process = mean(now, before, Tally.PROCESS_MS, Tally.PROCESS_SAMPLES);
        if (process != null) {
            load.setProcess_latency_ms(process);
        }
        Double complete = mean(now, before, Tally.COMPLETE_MS, Tally.COMPLETE_SAMPLES);
        if (complete != null) {
            load.setComplete_latency_ms(complete);
        }
        counters.queue.read(load);
        ShellCpu.Use shell = shellCpu.use(counters.task);
        if (shell != null) {
            load.setShell_cpu_ms(shell.millis());
            load.setShell_pid((int) shell.pid());
        }
        return load;
    }

    private static long scaled(long count, double scale) {
        return scale == 1.0 ? count : Math.round(count * scale);
    }

    private static Double mean(long[] now, long[] before, int sum, int samples) {
        long count = now[samples] - before[samples];
        return count <= 0 ? null : (now[sum] - before[sum]) / (double) count;
    }
}
