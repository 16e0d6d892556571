package io.stormbrain.hook;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Opens and shuts the gates of busy tasks. Up to {@value #BUSY} calls a second a task is counted whole, which costs it a
 * few thousandths of a core; above, it is counted in one slice of each period, at a random place in it, and the counts
 * are scaled. So a hook costs about the same however fast a task is, and thousands of tuples a second are still seen.
 * Belongs to the thread that closes windows.
 */
final class Sampling {
    static final int BUSY = 20_000;
    /** Once busy, a task is counted whole again below this. */
    static final int CALM = 10_000;
    private static final double SLICE = 0.04;

    /** What was known of a task when its rate was last looked at. */
    private record Seen(long calls, long openNs) {
    }

    private final long periodMs;
    private final Map<Integer, Seen> seen = new HashMap<>();
    private final Map<Integer, Boolean> busy = new HashMap<>();

    Sampling(int windowSecs) {
        this.periodMs = Math.max(100, Math.min(1000, windowSecs * 1000L / 5));
    }

    long periodMs() {
        return periodMs;
    }

    long sliceMs() {
        return Math.max(5, Math.round(SLICE * periodMs));
    }

    /** From the beginning of a period: when its slice begins. */
    long sliceAtMs() {
        return ThreadLocalRandom.current().nextLong(periodMs - 2 * sliceMs());
    }

    void beginSlice(Collection<TaskCounters> tasks, long nowNs) {
        tasks.forEach(task -> task.gate.open(nowNs));
    }

    void endSlice(Collection<TaskCounters> tasks, long nowNs) {
        for (TaskCounters task : tasks) {
            Seen now = new Seen(task.calls(), task.gate.openNanos(nowNs));
            Seen before = seen.put(task.task, now);
            long openNs = before == null ? 0 : now.openNs - before.openNs;
            boolean wasBusy = busy.getOrDefault(task.task, false);
            boolean isBusy = wasBusy;
            if (openNs > 0) {
                double rate = (now.calls - before.calls) * 1e9 / openNs;
                isBusy = rate > (wasBusy ? CALM : BUSY);
                busy.put(task.task, isBusy);
            }
            if (isBusy) {
                task.gate.shut(nowNs);
            }
        }
    }
}
