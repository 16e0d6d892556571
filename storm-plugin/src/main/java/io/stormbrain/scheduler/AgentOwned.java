package io.stormbrain.scheduler;

import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Topologies that are placed by agents beside the supervisors, not by a brain: {@code topology.brain.algorithm} is
 * {@value #ALGORITHM}. A brain places such a topology only while it does not run whole; once it does, plans count that
 * its agents wrote to ZooKeeper, and each of these only over the very assignment that it was made from.
 */
final class AgentOwned {
    static final String KEY = "topology.brain.algorithm";
    static final String ALGORITHM = "qos-distributed";

    private AgentOwned() {
    }

    static boolean is(TopologyDetails topology) {
        return ALGORITHM.equals(topology.getConf().get(KEY));
    }

    /** SHA-256 (hex) over "start-end node:port\n" by start task, as assignment_digest in brain/plans. */
    static String digest(Map<ExecutorDetails, WorkerSlot> assignment) {
        StringBuilder lines = new StringBuilder();
        assignment.entrySet().stream()
                .sorted(Comparator.comparing((Map.Entry<ExecutorDetails, WorkerSlot> e) -> e.getKey().getStartTask())
                        .thenComparing(e -> e.getKey().getEndTask()))
                .forEach(e -> lines.append(e.getKey().getStartTask()).append('-').append(e.getKey().getEndTask())
                        .append(' ').append(e.getValue().getNodeId()).append(':').append(e.getValue().getPort())
                        .append('\n'));
        return ExecutorSet.sha256(lines.toString().getBytes(StandardCharsets.UTF_8));
    }

    /** What runs now; empty where nothing does. */
    static Map<ExecutorDetails, WorkerSlot> running(Cluster cluster, String topologyId) {
        SchedulerAssignment assignment = cluster.getAssignmentById(topologyId);
        return assignment == null ? Map.of() : assignment.getExecutorToSlot();
    }
}
