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
    /** A busy task may pause for so many slices and is still taken for busy when it goes on. */
    static final int PAUSES = 10;
    private static final double SLICE = 0.04;

    /**
     * What was known of a task when its rate was last looked at.
     *
     * @param pauses slices since it was last called, of a busy task
     */
    private record Seen(long calls, long openNs, boolean busy, int pauses) {
    }

    private final long periodMs;
    private final Map<Integer, Seen> seen = new HashMap<>();

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
            Seen now = look(task, seen.get(task.task), nowNs);
            seen.put(task.task, now);
            if (now.busy) {
                task.gate.shut(nowNs);
            }
        }
    }

    private static Seen look(TaskCounters task, Seen before, long nowNs) {
        long calls = task.calls();
        long openNs = task.gate.openNanos(nowNs);
        if (before == null || openNs <= before.openNs) {
            return new Seen(calls, openNs, before != null && before.busy, 0);
        }
        if (before.busy && calls == before.calls && before.pauses < PAUSES) {
            return new Seen(calls, openNs, true, before.pauses + 1);
        }
        double rate = (calls - before.calls) * 1e9 / (openNs - before.openNs);
        return new Seen(calls, openNs, rate > (before.busy ? CALM : BUSY), 0);
    }
}
