package io.stormbrain.hook;

import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.TaskLoad;
import java.util.List;

/** What one worker counted between two points in time. */
record Window(long sequence, long startMs, long endMs, List<EdgeCount> edges, List<Task> tasks) {

    /** A task's load, and the executor ({@code start-end}) that it belongs to. */
    record Task(TaskLoad load, String executor) {
    }
}
