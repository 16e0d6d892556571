package io.stormbrain.peer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.daemon.nimbus.Nimbus;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.utils.Utils;

/**
 * Storm's real EvenScheduler and DefaultScheduler as a filter, so that others can be compared with them.
 *
 * <p>Reads one problem a line on stdin and writes one answer a line on stdout. A problem:
 * <pre>{@code
 * {"scheduler": "even",                             // or "default"
 *  "supervisors": [{"id": "n1", "host": "h1",       // host optional: the id
 *                   "ports": [6700, 6701], "blacklisted": false}],
 *  "topologies": [{"id": "t-1", "workers": 2,
 *                  "executors": [[1, 1], [2, 3]],   // first and last task
 *                  "assignment": {"1-1": ["n1", 6700]}}]}  // optional
 * }</pre>
 * Its answer holds each executor that has a slot afterwards:
 * <pre>{@code
 * {"assignments": {"t-1": {"1-1": ["n1", 6700], "2-3": ["n1", 6701]}}}
 * }</pre>
 * or, for a line that cannot be used, {@code {"error": "…"}}.
 *
 * <p>Storm takes topologies in the order of a hash map. So that the answer can be compared, this order is replaced by the
 * order in the problem; all else is Storm's.
 *
 * <p>{@code java -cp <target/test-classes>:<target/classes>:$(cat target/test-classpath.txt)
 * io.stormbrain.peer.EvenSchedulerPeer}; Storm's log goes to stderr.
 */
public final class EvenSchedulerPeer {
    private final ObjectMapper json = new ObjectMapper();
    private final Map<String, Object> conf = Utils.readDefaultConfig();

    public static void main(String[] args) throws Exception {
        // Storm logs on stdout, where only answers may stand
        PrintStream answers = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true,
                StandardCharsets.UTF_8);
        System.setOut(System.err);
        EvenSchedulerPeer peer = new EvenSchedulerPeer();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isBlank()) {
                answers.println(peer.answer(line));
            }
        }
    }

    String answer(String line) throws Exception {
        try {
            return json.writeValueAsString(Map.of("assignments", solve(json.readTree(line))));
        } catch (Exception e) {
            return json.writeValueAsString(Map.of("error", e.toString()));
        }
    }

    private Map<String, Map<String, List<Object>>> solve(JsonNode problem) {
        Map<String, TopologyDetails> details = new LinkedHashMap<>();
        Map<String, SchedulerAssignment> assignments = new HashMap<>();
        for (JsonNode topology : problem.get("topologies")) {
            String id = topology.get("id").asText();
            details.put(id, topology(id, topology));
            Map<ExecutorDetails, WorkerSlot> placed = assignment(topology.path("assignment"));
            if (!placed.isEmpty()) {
                assignments.put(id, new SchedulerAssignmentImpl(id, placed, null, null));
            }
        }
        Map<String, SupervisorDetails> supervisors = new LinkedHashMap<>();
        Set<String> blacklisted = new HashSet<>();
        for (JsonNode supervisor : problem.get("supervisors")) {
            String id = supervisor.get("id").asText();
            String host = supervisor.path("host").asText(id);
            List<Integer> ports = new ArrayList<>();
            supervisor.get("ports").forEach(port -> ports.add(port.asInt()));
            supervisors.put(id, new SupervisorDetails(id, host, null, ports, Map.of(
                    Config.SUPERVISOR_CPU_CAPACITY, 400.0, Config.SUPERVISOR_MEMORY_CAPACITY_MB, 4096.0)));
            if (supervisor.path("blacklisted").asBoolean()) {
                blacklisted.add(host);
            }
        }
        Topologies topologies = new Topologies(details);
        Cluster cluster = new InOrder(new Cluster(new Nimbus.StandaloneINimbus(),
                new ResourceMetrics(new StormMetricsRegistry()), supervisors, assignments, topologies, conf), details);
        cluster.setBlacklistedHosts(blacklisted);
        scheduler(problem.path("scheduler").asText("even")).schedule(topologies, cluster);
        return result(details.keySet(), cluster);
    }

    private TopologyDetails topology(String id, JsonNode topology) {
        Map<ExecutorDetails, String> executors = new HashMap<>();
        for (JsonNode range : topology.get("executors")) {
            executors.put(new ExecutorDetails(range.get(0).asInt(), range.get(1).asInt()), "c");
        }
        int workers = topology.get("workers").asInt();
        Map<String, Object> topologyConf = new HashMap<>(conf);
        topologyConf.put(Config.TOPOLOGY_NAME, id);
        topologyConf.put(Config.TOPOLOGY_WORKERS, workers);
        return new TopologyDetails(id, topologyConf, new StormTopology(Map.of(), Map.of(), Map.of()), workers, executors,
                "peer");
    }

    private static Map<ExecutorDetails, WorkerSlot> assignment(JsonNode assignment) {
        Map<ExecutorDetails, WorkerSlot> placed = new HashMap<>();
        assignment.fields().forEachRemaining(entry -> {
            String[] range = entry.getKey().split("-");
            placed.put(new ExecutorDetails(Integer.parseInt(range[0]), Integer.parseInt(range[1])),
                    new WorkerSlot(entry.getValue().get(0).asText(), entry.getValue().get(1).asInt()));
        });
        return placed;
    }

    private static IScheduler scheduler(String name) {
        switch (name) {
            case "even":
                return new EvenScheduler();
            case "default":
                return new DefaultScheduler();
            default:
                throw new IllegalArgumentException("scheduler is \"" + name + "\": even or default is expected");
        }
    }

    private static Map<String, Map<String, List<Object>>> result(Set<String> ids, Cluster cluster) {
        Map<String, Map<String, List<Object>>> result = new LinkedHashMap<>();
        for (String id : ids) {
            Map<Integer, ExecutorDetails> byTask = new TreeMap<>();
            SchedulerAssignment assignment = cluster.getAssignmentById(id);
            Map<String, List<Object>> slots = new LinkedHashMap<>();
            if (assignment != null) {
                assignment.getExecutors().forEach(executor -> byTask.put(executor.getStartTask(), executor));
                for (ExecutorDetails executor : byTask.values()) {
                    WorkerSlot slot = assignment.getExecutorToSlot().get(executor);
                    slots.put(executor.getStartTask() + "-" + executor.getEndTask(),
                            List.of(slot.getNodeId(), slot.getPort()));
                }
            }
            result.put(id, slots);
        }
        return result;
    }

    /** Storm's cluster, which offers the topologies in the problem's order. */
    private static final class InOrder extends Cluster {
        private final Map<String, TopologyDetails> ordered;

        InOrder(Cluster cluster, Map<String, TopologyDetails> ordered) {
            super(cluster);
            this.ordered = ordered;
        }

        @Override
        public List<TopologyDetails> needsSchedulingTopologies() {
            return ordered.values().stream().filter(this::needsScheduling).toList();
        }
    }
}
