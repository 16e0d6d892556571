package io.stormbrain.testing;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.storm.Config;
import org.apache.storm.daemon.nimbus.Nimbus;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.testing.TestGlobalCount;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.Utils;

/** Builds Storm's real scheduling classes in a few words, as Nimbus would before each round. */
public final class TestCluster {
    public static final int FIRST_PORT = 6700;

    private final Map<String, Object> conf = Utils.readDefaultConfig();
    private final Map<String, SupervisorDetails> supervisors = new LinkedHashMap<>();
    private final Map<String, TopologyDetails> topologies = new LinkedHashMap<>();
    private final Map<String, Map<ExecutorDetails, WorkerSlot>> assigned = new HashMap<>();

    public Map<String, Object> conf() {
        return conf;
    }

    /** Supervisors n1 … with slots from port 6700 on. */
    public TestCluster nodes(int count, int slots) {
        for (int n = 1; n <= count; n++) {
            node("n" + n, slots);
        }
        return this;
    }

    public TestCluster node(String id, int slots) {
        List<Integer> ports = IntStream.range(FIRST_PORT, FIRST_PORT + slots).boxed().toList();
        supervisors.put(id, new SupervisorDetails(id, "host-" + id, null, ports, Map.of(
                Config.SUPERVISOR_CPU_CAPACITY, 400.0, Config.SUPERVISOR_MEMORY_CAPACITY_MB, 4096.0)));
        return this;
    }

    public TestCluster withoutNode(String id) {
        supervisors.remove(id);
        return this;
    }

    /** A topology spout → bolt with ackers: one task an executor, but two for the last bolt executor. */
    public TestCluster topology(String id, int workers, int spouts, int bolts, int ackers) {
        return topology(id, workers, spouts, bolts, ackers, Map.of());
    }

    public TestCluster topology(String id, int workers, int spouts, int bolts, int ackers, Map<String, Object> extra) {
        Map<ExecutorDetails, String> executors = new HashMap<>();
        int task = 1;
        for (int i = 0; i < ackers; i++, task++) {
            executors.put(new ExecutorDetails(task, task), "__acker");
        }
        for (int i = 0; i < bolts; i++, task++) {
            int end = i == bolts - 1 ? task + 1 : task;
            executors.put(new ExecutorDetails(task, end), "count");
            task = end;
        }
        for (int i = 0; i < spouts; i++, task++) {
            executors.put(new ExecutorDetails(task, task), "words");
        }
        Map<String, Object> topologyConf = new HashMap<>(conf);
        topologyConf.put(Config.TOPOLOGY_NAME, id.replaceAll("-.*", ""));
        topologyConf.put(Config.TOPOLOGY_WORKERS, workers);
        topologyConf.putAll(extra);
        topologies.put(id, new TopologyDetails(
                id, topologyConf, code(spouts, bolts), workers, executors, (int) (System.currentTimeMillis() / 1000), "me"));
        return this;
    }

    public TestCluster withoutTopology(String id) {
        topologies.remove(id);
        assigned.remove(id);
        return this;
    }

    private static StormTopology code(int spouts, int bolts) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new TestWordSpout(), spouts);
        builder.setBolt("count", new TestGlobalCount(), bolts).fieldsGrouping("words", new Fields("word"));
        return builder.createTopology();
    }

    /** Puts a topology's executors, in order of their tasks, on slots written as node:port, in turn. */
    public TestCluster assign(String topologyId, String... slots) {
        assigned.put(topologyId, placement(topologyId, slots));
        return this;
    }

    public TestCluster unassign(String topologyId) {
        assigned.remove(topologyId);
        return this;
    }

    public TestCluster assign(String topologyId, Map<ExecutorDetails, WorkerSlot> placement) {
        assigned.put(topologyId, new HashMap<>(placement));
        return this;
    }

    public Map<ExecutorDetails, WorkerSlot> placement(String topologyId, String... slots) {
        Map<ExecutorDetails, WorkerSlot> placement = new HashMap<>();
        int next = 0;
        for (ExecutorDetails executor : executors(topologyId)) {
            placement.put(executor, slot(slots[next++ % slots.length]));
        }
        return placement;
    }

    public List<ExecutorDetails> executors(String topologyId) {
        TreeMap<Integer, ExecutorDetails> byTask = new TreeMap<>();
        details(topologyId).getExecutors().forEach(executor -> byTask.put(executor.getStartTask(), executor));
        return List.copyOf(byTask.values());
    }

    public TopologyDetails details(String topologyId) {
        return topologies.get(topologyId);
    }

    public static WorkerSlot slot(String text) {
        int colon = text.indexOf(':');
        return new WorkerSlot(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
    }

    public Topologies topologies() {
        return new Topologies(topologies);
    }

    /** A fresh cluster object, as Nimbus makes for every round. */
    public Cluster build() {
        Map<String, SchedulerAssignment> assignments = new HashMap<>();
        assigned.forEach((id, placement) ->
                assignments.put(id, new SchedulerAssignmentImpl(id, placement, null, null)));
        return new Cluster(new Nimbus.StandaloneINimbus(), new ResourceMetrics(new StormMetricsRegistry()),
                supervisors, assignments, topologies(), conf);
    }

    /** Takes over what a scheduler did, as Nimbus does after each round. */
    public TestCluster adopt(Cluster cluster) {
        assigned.clear();
        cluster.getAssignments().forEach((id, assignment) ->
                assigned.put(id, new HashMap<>(assignment.getExecutorToSlot())));
        return this;
    }

    /** Where a topology runs in this cluster object. */
    public static Map<ExecutorDetails, WorkerSlot> where(Cluster cluster, String topologyId) {
        SchedulerAssignment assignment = cluster.getAssignmentById(topologyId);
        return assignment == null ? Map.of() : Map.copyOf(assignment.getExecutorToSlot());
    }
}
