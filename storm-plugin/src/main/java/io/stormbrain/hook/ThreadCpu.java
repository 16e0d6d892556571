package io.stormbrain.hook;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Map;

/** CPU time of executors' threads, shared evenly among the tasks of an executor. Belongs to one thread. */
final class ThreadCpu {
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final boolean works = threads.isThreadCpuTimeSupported() && threads.isThreadCpuTimeEnabled();
    private final Map<ExecutorGroup, Long> idOf = new HashMap<>();
    private final Map<ExecutorGroup, Long> nanosBefore = new HashMap<>();
    private final Map<ExecutorGroup, Double> millis = new HashMap<>();
    private Map<String, Long> executorThreads;

    /** Forgets the figures of the last window. */
    void beginWindow() {
        millis.clear();
        executorThreads = null;
    }

    /** What one task of this executor used in this window. */
    double millis(ExecutorGroup executor) {
        return millis.computeIfAbsent(executor, this::measure);
    }

    private double measure(ExecutorGroup executor) {
        if (!works) {
            return 0;
        }
        Long id = idOf.computeIfAbsent(executor, group -> group.threadId(executorThreads()));
        long nanos = id == null ? -1 : threads.getThreadCpuTime(id);
        if (nanos < 0) {
            idOf.remove(executor);
            return 0;
        }
        Long before = nanosBefore.put(executor, nanos);
        return Math.max(0, nanos - (before == null ? 0 : before)) / 1e6 / executor.size();
    }

    /** Looked up only in windows in which some executor's thread is not known yet. */
    private Map<String, Long> executorThreads() {
        if (executorThreads == null) {
            executorThreads = new HashMap<>();
            for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
                if (thread != null && ExecutorGroup.isExecutorThread(thread.getThreadName())) {
                    executorThreads.put(thread.getThreadName(), thread.getThreadId());
                }
            }
        }
        return executorThreads;
    }
}
