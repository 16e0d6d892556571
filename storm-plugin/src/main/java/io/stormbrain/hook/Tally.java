package io.stormbrain.hook;

import java.util.concurrent.atomic.LongAdder;

/**
 * A task's counters. The executor's own thread writes without locks or atomic operations (see {@link Edge} why that is
 * enough); other threads (those of a ShellBolt, or of a bolt that emits from a pool) go to adders beside. Sums only ever
 * grow, and readers take differences.
 */
final class Tally {
    static final int EMITTED = 0;
    static final int ACKED = 1;
    static final int FAILED = 2;
    static final int EXECUTE_MS = 3;
    static final int EXECUTE_SAMPLES = 4;
    static final int PROCESS_MS = 5;
    static final int PROCESS_SAMPLES = 6;
    static final int COMPLETE_MS = 7;
    static final int COMPLETE_SAMPLES = 8;
    private static final int COUNTERS = 9;
    /** Room on both sides, so that two tasks' counters never share a cache line. */
    private static final int PAD = 8;

    private final long[] own = new long[PAD + COUNTERS + PAD];
    private final LongAdder[] others = new LongAdder[COUNTERS];
    private Thread owner;
    private Thread stranger;

    Tally() {
        for (int i = 0; i < COUNTERS; i++) {
            others[i] = new LongAdder();
        }
    }

    /** Says that this thread is the executor's: from callbacks that Storm makes on no other. */
    void claim() {
        if (owner == null) {
            owner = Thread.currentThread();
        }
    }

    /** On the executor's thread, which has claimed this. */
    void addAsOwner(int counter, long amount) {
        own[PAD + counter] += amount;
    }

    /** From callbacks that may come on any thread. */
    void add(int counter, long amount) {
        if (Thread.currentThread() == owner || onOwner()) {
            own[PAD + counter] += amount;
        } else {
            others[counter].add(amount);
        }
    }

    /**
     * Whether this is the executor's own thread. Racy on purpose: a wrong guess about a stranger costs one look at a name.
     */
    boolean onOwner() {
        Thread current = Thread.currentThread();
        if (current == owner) {
            return true;
        }
        if (current == stranger) {
            return false;
        }
        if (owner == null && ExecutorGroup.isExecutorThread(current.getName())) {
            owner = current;
            return true;
        }
        stranger = current;
        return false;
    }

    long read(int counter) {
        return own[PAD + counter] + others[counter].sum();
    }

    long[] readAll() {
        long[] all = new long[COUNTERS];
        for (int i = 0; i < COUNTERS; i++) {
            all[i] = read(i);
        }
        return all;
    }
}
