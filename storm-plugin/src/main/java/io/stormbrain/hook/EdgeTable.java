package io.stormbrain.hook;

import java.util.Arrays;
import java.util.List;

/**
 * The edges of one task by peer: an array over task ids, which Storm numbers densely from 1, so that finding an edge is
 * one load. One writer, the executor's thread.
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
    /** No topology has more tasks than this; an id beyond is not counted. */
    private static final int MAX_CAPACITY = 1 << 20;
    private static final int MAX_EDGES = 1 << 16;

    private final Sizer sizer;
    private final int seed;
    private volatile Edge[] published = new Edge[FIRST_CAPACITY];
    /** The writer's own reference: the same array, without the cost of a volatile read. */
    private Edge[] edges = published;
    private int used;

    EdgeTable(Sizer sizer, int seed) {
        this.sizer = sizer;
        this.seed = seed;
    }

    /** The edge from a peer, made if there is none yet; null for peers of Storm's own (below 0) or past all bounds. */
    Edge edge(int peer) {
        Edge[] all = edges;
        if (peer >= 0 && peer < all.length) {
            Edge edge = all[peer];
            if (edge != null) {
                return edge;
            }
        }
        return peer < 0 ? null : insert(peer);
    }

    /** Counts one tuple from the peer. */
    void count(int peer, List<Object> values) {
        Edge edge = edge(peer);
        if (edge != null) {
            edge.tuples++;
            if (--edge.untilSample < 0) {
                edge.sized(sizer.size(values));
            }
        }
    }

    void read(Reader reader) {
        for (Edge edge : published) {
            if (edge != null) {
                edge.read(reader);
            }
        }
    }

    /** Tuples of all edges together. */
    long tuples() {
        long sum = 0;
        for (Edge edge : published) {
            sum += edge == null ? 0 : edge.tuples;
        }
        return sum;
    }

    private Edge insert(int peer) {
        if (used >= MAX_EDGES || peer >= MAX_CAPACITY) {
            return null;
        }
        if (peer >= edges.length) {
            edges = Arrays.copyOf(edges, Integer.highestOneBit(peer) * 2);
        }
        Edge edge = new Edge(peer, seed + peer);
        edges[peer] = edge;
        used++;
        published = edges; // also when the array is the old one: the volatile write shows the new edge whole
        return edge;
    }
}
