package io.stormbrain.hook;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.storm.Constants;
import org.apache.storm.daemon.Acker;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;

/** Everything that one task counts. Written on the tuple path, read by the thread that closes windows. */
final class TaskCounters {
    final int task;
    final String component;
    final ExecutorGroup executor;
    final Tally tally = new Tally();
    /** Tuples that came to this task, by source. */
    final EdgeTable userEdges;
    final EdgeTable systemEdges;
    /** The declared command of a multilang component, or null. */
    final ShellCommand shellCommand;
    final QueueGauge queue;
    final Gate gate;
    private final Map<Integer, Long> shellPids;
    private final boolean systemComponent;
    private final boolean spout;
    private final TupleSizer sizer;
    private Edge lastEdge = new Edge(Integer.MIN_VALUE, 0);
    private String lastStream;
    private String userStream;
    private String systemStream;
    private String countedStream;
    private String passedOverStream;

    TaskCounters(Map<String, Object> conf, TopologyContext context) {
        this.task = context.getThisTaskId();
        this.component = context.getThisComponentId();
        this.executor = ExecutorGroup.join(context);
        this.systemComponent = isSystem(component);
        this.shellCommand = ShellCommand.of(context);
        this.shellPids = ShellProcesses.of(context);
        this.queue = QueueGauge.of(context);
        this.gate = Gate.of(context);
        this.spout = context.getRawTopology().get_spouts() != null
                && context.getRawTopology().get_spouts().containsKey(component);
        this.sizer = new TupleSizer(conf);
        this.userEdges = new EdgeTable(sizer, task + 1);
        this.systemEdges = new EdgeTable(sizer, task + 2);
    }

    static boolean isSystem(String name) {
        return name.length() > 1 && name.charAt(0) == '_' && name.charAt(1) == '_';
    }

    /** Whether a subprocess does this task's work. */
    boolean isShell() {
        return shellCommand != null || shellPid() != null;
    }

    /** The task's subprocess if it was told, else null. */
    Long shellPid() {
        return shellPids.get(task);
    }

    /** Tuples received, of all streams. A spout receives none that Storm would show. */
    long executedTuples() {
        return spout ? 0 : userEdges.tuples() + systemEdges.tuples();
    }

    /** How often Storm has called, about. */
    long calls() {
        return userEdges.tuples() + systemEdges.tuples() + tally.read(Tally.EMITTED) + tally.read(Tally.ACKED);
    }

    void executed(Tuple tuple, Long latencyMs) {
        int source = tuple.getSourceTask();
        String stream = tuple.getSourceStreamId();
        Edge edge = lastEdge;
        if (edge.peer != source || stream != lastStream) {
            edge = turnTo(source, stream);
            if (edge == null) {
                return;
            }
        }
        edge.tuples++;
        if (--edge.untilSample < 0) {
            edge.sized(sizer.size(tuple.getValues()));
        }
        // Storm says -1, or nothing, where it took no sample
        if (latencyMs != null && latencyMs >= 0) {
            tally.addAsOwner(Tally.EXECUTE_MS, latencyMs);
            tally.addAsOwner(Tally.EXECUTE_SAMPLES, 1);
        }
    }

    /**
     * The edge of another source or stream than last time; null for what is not counted: ticks and the like, made in this
     * very worker by no task that is placed. Streams are told apart by reference first: Storm hands out the same strings.
     */
    private Edge turnTo(int source, String stream) {
        tally.claim();
        EdgeTable table;
        if (stream == userStream) {
            table = userEdges;
        } else if (stream == systemStream) {
            table = systemEdges;
        } else if (isSystem(stream)) {
            systemStream = stream;
            table = systemEdges;
        } else {
            userStream = stream;
            table = userEdges;
        }
        Edge edge = source == Constants.SYSTEM_TASK_ID ? null : table.edge(source);
        if (edge != null) {
            lastEdge = edge;
            lastStream = stream;
        }
        return edge;
    }

    void emitted(String stream, List<Object> values, Collection<Integer> targets) {
        if (stream == countedStream) {
            tally.add(Tally.EMITTED, 1);
        } else if (stream != passedOverStream) {
            emittedElsewhere(stream, values, targets);
        }
    }

    private void emittedElsewhere(String stream, List<Object> values, Collection<Integer> targets) {
        if (!isSystem(stream) || systemComponent) {
            countedStream = stream;
            tally.add(Tally.EMITTED, 1);
        } else if (!stream.equals(Acker.ACKER_INIT_STREAM_ID)) {
            passedOverStream = stream;
        } else if (tally.onOwner()) {
            // Storm shows a hook nothing of what a spout receives; but the acker that it registers a tuple with will
            // send one tuple back, so that is counted here.
            for (Integer acker : targets) {
                if (acker != null) {
                    systemEdges.count(acker, values);
                }
            }
        }
    }

    void boltAcked(Long latencyMs) {
        tally.add(Tally.ACKED, 1);
        if (latencyMs != null && latencyMs >= 0) {
            tally.add(Tally.PROCESS_MS, latencyMs);
            tally.add(Tally.PROCESS_SAMPLES, 1);
        }
    }

    void spoutAcked(Long latencyMs) {
        tally.claim();
        tally.addAsOwner(Tally.ACKED, 1);
        if (latencyMs != null && latencyMs >= 0) {
            tally.addAsOwner(Tally.COMPLETE_MS, latencyMs);
            tally.addAsOwner(Tally.COMPLETE_SAMPLES, 1);
        }
    }

    void failed() {
        tally.add(Tally.FAILED, 1);
    }
}
