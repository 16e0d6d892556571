package io.stormbrain.scheduler;

import java.util.concurrent.TimeUnit;

/** A point in time that work must not pass. */
record Deadline(long nanoTime) {

    static Deadline after(long millis) {
        return new Deadline(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** Milliseconds left; never below 1, because 0 means "for ever" to sockets. */
    int remainingMs() {
        long left = TimeUnit.NANOSECONDS.toMillis(nanoTime - System.nanoTime());
        return (int) Math.max(1, Math.min(left, Integer.MAX_VALUE));
    }

    boolean passed() {
        return System.nanoTime() - nanoTime >= 0;
    }
}
