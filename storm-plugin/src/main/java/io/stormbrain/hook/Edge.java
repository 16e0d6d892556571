package io.stormbrain.hook;

/**
 * Tuples and bytes from one peer task. One thread writes, the executor's; another reads now and then. The fields are
 * plain: between two tuples the executor passes its queue, which orders its writes, and a reader that sees an older
 * state catches up with the next window.
 *
 * <p>Bytes are an estimate. About every 64th tuple is sized (rarer on a busy edge, see {@link #read}), and those until
 * the next sample count as large. They are worked out when read, not when counted.
 */
final class Edge {
    /** Distances between samples are drawn from 1 … spread: half of it on average, in step with no period of the data. */
    private static final int LEAST_SPREAD = 127;
    private static final int MOST_SPREAD = 2047;
    /** So many samples a window are plenty. */
    private static final int SAMPLES = 64;

    /** What was known when a tuple was sized: bytes up to it, and how large it is. */
    private record Sample(long tuples, long bytes, int size) {
    }

    final int peer;
    /** Written by {@link TaskCounters} on the tuple path. */
    long tuples;
    int untilSample;
    private int random;
    private int spread = LEAST_SPREAD;
    private volatile Sample sample = new Sample(0, 0, 0);
    private long tuplesLastRead;
    /** Room, so that the counts of two threads do not share a cache line, wherever the collector puts them. */
    @SuppressWarnings("unused")
    private long p1, p2, p3, p4, p5, p6, p7, p8, p9;

    Edge(int peer, int seed) {
        this.peer = peer;
        this.random = seed * 0x9E3779B9 | 1;
    }

    /** The newest tuple, already counted, has this size. */
    void sized(int size) {
        Sample last = sample;
        long before = tuples - 1;
        sample = new Sample(before, last.bytes + (before - last.tuples) * last.size, size);
        random ^= random << 13;
        random ^= random >>> 17;
        random ^= random << 5;
        untilSample = (random & Integer.MAX_VALUE) % spread;
    }

    /** Hands the sums to a reader, of which there is one; and lets a busy edge be sampled more rarely. */
    void read(EdgeTable.Reader reader) {
        Sample known = sample;
        long now = tuples;
        reader.edge(peer, now, known.bytes + Math.max(0, now - known.tuples) * known.size);
        long rarer = Long.highestOneBit(Math.max(1, (now - tuplesLastRead) / SAMPLES)) * 2 - 1;
        spread = (int) Math.max(LEAST_SPREAD, Math.min(MOST_SPREAD, rarer));
        tuplesLastRead = now;
    }
}
