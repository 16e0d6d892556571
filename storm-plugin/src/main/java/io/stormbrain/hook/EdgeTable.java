package io.stormbrain.hook;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;

/**
 * Tuples and bytes per peer task: an open-addressing table with one writer, the executor's thread, and no allocation on
 * the tuple path but when it grows. Bytes are an estimate: about every 64th tuple of an edge is sized, and those until
 * the next sample count as large. Sums only ever grow; a reader that sees an older state catches up with the next window.
 */
final class EdgeTable {
    /** How a tuple is sized. */
    interface Sizer {
        int size(List<Object> values);
    }

    /** What a reader gets to see. */
    interface Reader {
        void edge(int peer, long tuples, long bytes);
    }

    private static final int FIRST_CAPACITY = 16;
    private static final int MAX_CAPACITY = 1 << 17;
    /** Distances between samples are drawn from 1 … 127: 64 on average, in step with no period of the data. */
    private static final int SAMPLE_MASK = 127;
    private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);

    private static final class Slots {
        /** Task id + 1; 0 is empty. */
        final int[] peers;
        final long[] tuples;
        final long[] bytes;
        final int[] untilSample;
        final int[] lastSize;

        Slots(int capacity) {
            peers = new int[capacity];
            tuples = new long[capacity];
            bytes = new long[capacity];
            untilSample = new int[capacity];
            lastSize = new int[capacity];
        }
    }

    private final Sizer sizer;
    private volatile Slots published = new Slots(FIRST_CAPACITY);
    /** The writer's own reference: the same object, without the cost of a volatile read. */
    private Slots slots = published;
    private int used;
    private int random;

    EdgeTable(Sizer sizer, int seed) {
        this.sizer = sizer;
        this.random = seed * 0x9E3779B9 | 1;
    }

    /** Counts one tuple from or to the peer. Peers below 0 are Storm's own and not counted. */
    void count(int peer, List<Object> values) {
        if (peer < 0) {
            return;
        }
        int slot = find(peer);
        if (slot < 0) {
            return;
        }
        Slots s = slots;
        if (--s.untilSample[slot] <= 0) {
            s.lastSize[slot] = sizer.size(values);
            s.untilSample[slot] = 1 + nextRandom() % SAMPLE_MASK;
        }
        LONGS.setRelease(s.bytes, slot, s.bytes[slot] + s.lastSize[slot]);
        LONGS.setRelease(s.tuples, slot, s.tuples[slot] + 1);
    }

    void read(Reader reader) {
        Slots s = published;
        for (int slot = 0; slot < s.peers.length; slot++) {
            int key = (int) INTS.getAcquire(s.peers, slot);
            if (key != 0) {
                long tuples = (long) LONGS.getAcquire(s.tuples, slot);
                reader.edge(key - 1, tuples, (long) LONGS.getAcquire(s.bytes, slot));
            }
        }
    }

    private int find(int peer) {
        int key = peer + 1;
        int mask = slots.peers.length - 1;
        int slot = key * 0x9E3779B9 >>> 16 & mask;
        while (slots.peers[slot] != key) {
            if (slots.peers[slot] == 0) {
                return insert(peer, slot);
            }
            slot = slot + 1 & mask;
        }
        return slot;
    }

    private int insert(int peer, int slot) {
        int capacity = slots.peers.length;
        if (used * 2 >= capacity) {
            if (capacity >= MAX_CAPACITY) {
                return -1;
            }
            grow(capacity * 2);
            return find(peer);
        }
        used++;
        INTS.setRelease(slots.peers, slot, peer + 1);
        return slot;
    }

    private void grow(int capacity) {
        Slots old = slots;
        Slots larger = new Slots(capacity);
        for (int i = 0; i < old.peers.length; i++) {
            if (old.peers[i] != 0) {
                int slot = old.peers[i] * 0x9E3779B9 >>> 16 & capacity - 1;
                while (larger.peers[slot] != 0) {
                    slot = slot + 1 & capacity - 1;
                }
                larger.peers[slot] = old.peers[i];
                larger.tuples[slot] = old.tuples[i];
                larger.bytes[slot] = old.bytes[i];
                larger.untilSample[slot] = old.untilSample[i];
                larger.lastSize[slot] = old.lastSize[i];
            }
        }
        slots = larger;
        published = larger;
    }

    private int nextRandom() {
        random ^= random << 13;
        random ^= random >>> 17;
        random ^= random << 5;
        return random & Integer.MAX_VALUE;
    }
}
