package io.stormbrain.hook;

import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.TaskLoad;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Turns the growing sums of the tasks into the differences of one window. Belongs to one thread. */
final class WindowCounter {
    private record EdgeKey(int source, int target, boolean system) {
    }

    private final ThreadCpu threadCpu;
    private final ShellCpu shellCpu;
    private final Map<EdgeKey, long[]> edgesBefore = new HashMap<>();
    private final Map<Integer, long[]> talliesBefore = new HashMap<>();
    private final Map<Integer, Long> executedBefore = new HashMap<>();
    private long sequence;
    private long startMs;

    WindowCounter(ThreadCpu threadCpu, ShellCpu shellCpu, long startMs) {
        this.threadCpu = threadCpu;
        this.shellCpu = shellCpu;
        this.startMs = startMs;
    }

    Window close(Collection<TaskCounters> tasks, long endMs) {
        List<EdgeCount> edges = new ArrayList<>();
        List<Window.Task> loads = new ArrayList<>();
        threadCpu.beginWindow();
        shellCpu.beginWindow(tasks);
        for (TaskCounters counters : tasks) {
            int task = counters.task;
            counters.userEdges.read((peer, tuples, bytes) ->
                    edge(edges, new EdgeKey(peer, task, false), tuples, bytes));
            counters.systemEdges.read((peer, tuples, bytes) ->
                    edge(edges, new EdgeKey(peer, task, true), tuples, bytes));
            loads.add(new Window.Task(load(counters), counters.executor.range()));
        }
        edges.sort(Comparator.comparingInt(EdgeCount::getTarget_task).thenComparingInt(EdgeCount::getSource_task));
        loads.sort(Comparator.comparingInt(task -> task.load().getTask()));
        Window window = new Window(sequence++, startMs, Math.max(endMs, startMs), edges, loads);
        startMs = window.endMs();
        return window;
    }

    private void edge(List<EdgeCount> edges, EdgeKey key, long tuples, long bytes) {
        long[] before = edgesBefore.computeIfAbsent(key, k -> new long[2]);
        if (tuples > before[0]) {
            EdgeCount edge = new EdgeCount(
                    key.source, key.target, tuples - before[0], Math.max(0, bytes - before[1]));
            if (key.system) {
                edge.setSystem(true);
            }
            edges.add(edge);
            before[0] = tuples;
            before[1] = bytes;
        }
    }

    private TaskLoad load(TaskCounters counters) {
        long[] now = counters.tally.readAll();
        long[] before = talliesBefore.put(counters.task, now);
        if (before == null) {
            before = new long[now.length];
        }
        TaskLoad load = new TaskLoad(counters.task, counters.component, threadCpu.millis(counters.executor));
        long executed = counters.executedTuples();
        Long executedThen = executedBefore.put(counters.task, executed);
        load.setExecuted(executed - (executedThen == null ? 0 : executedThen));
        load.setEmitted(now[Tally.EMITTED] - before[Tally.EMITTED]);
        load.setAcked(now[Tally.ACKED] - before[Tally.ACKED]);
        load.setFailed(now[Tally.FAILED] - before[Tally.FAILED]);
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

    private static Double mean(long[] now, long[] before, int sum, int samples) {
        long count = now[samples] - before[samples];
        return count <= 0 ? null : (now[sum] - before[sum]) / (double) count;
    }
}
