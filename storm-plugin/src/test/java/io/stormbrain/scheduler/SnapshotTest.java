package io.stormbrain.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.TestCluster;
import io.stormbrain.thrift.ClusterState;
import io.stormbrain.thrift.ComponentState;
import io.stormbrain.thrift.ExecutorState;
import io.stormbrain.thrift.Slot;
import io.stormbrain.thrift.StreamInput;
import io.stormbrain.thrift.SupervisorState;
import io.stormbrain.thrift.TopologyState;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.storm.scheduler.Cluster;
import org.junit.jupiter.api.Test;

class SnapshotTest {
    private final TestCluster nimbus = new TestCluster().nodes(2, 2).topology("t-1", 3, 1, 2, 1, Map.of(
            "topology.brain.algorithm", "metis", "topology.brain.pin", Map.of("count", List.of("n1")),
            "topology.scheduler.favored.nodes", List.of("host-n1"), "some.password", "hidden"));

    private ClusterState take(Cluster cluster) {
        Rejection rejection = new Rejection("t-1", 3, Rejection.Code.DEAD_SLOT, "n9 is not alive");
        return new Snapshot("nimbus:6627", "s3cret").take(nimbus.topologies(), cluster, List.of(rejection));
    }

    @Test
    void holdsTheSupervisors() {
        Cluster cluster = nimbus.build();
        cluster.setBlacklistedHosts(Set.of("host-n2"));
        cluster.setNetworkTopography(Map.of("rack-a", List.of("host-n1"), "rack-b", List.of("host-n2")));
        List<SupervisorState> supervisors = take(cluster).getSupervisors();
        assertEquals(new SupervisorState("n1", "host-n1", List.of(6700, 6701)).setRack("rack-a")
                .setCpu_capacity(400).setMemory_capacity_mb(4096).setBlacklisted(false), supervisors.get(0));
        assertTrue(supervisors.get(1).isBlacklisted());
        assertEquals(List.of(6700, 6701), supervisors.get(1).getPorts());
    }

    @Test
    void holdsComponentsWithTheirInputsAndNeeds() {
        Map<String, ComponentState> components = take(nimbus.build()).getTopologies().get(0).getComponents().stream()
                .collect(Collectors.toMap(ComponentState::getId, Function.identity()));
        assertEquals(Set.of("words", "count", "__acker"), components.keySet());
        assertEquals("spout", components.get("words").getKind());
        assertEquals("bolt", components.get("__acker").getKind());
        ComponentState count = components.get("count");
        assertEquals(2, count.getParallelism());
        assertEquals(List.of(new StreamInput("words", "default", "fields").setFields(List.of("word"))), count.getInputs());
        assertEquals(10.0, count.getCpu_percent());
        assertEquals(128.0, count.getMemory_mb());
    }

    @Test
    void holdsExecutorsWithTheirSlots() {
        nimbus.assign("t-1", "n1:6700", "n2:6701");
        TopologyState topology = take(nimbus.build()).getTopologies().get(0);
        List<ExecutorState> executors = topology.getExecutors();
        assertEquals(4, executors.size());
        assertEquals("__acker", executors.get(0).getComponent());
        assertEquals(new Slot("n1", 6700), executors.get(0).getSlot());
        assertEquals(3, executors.get(2).getRange().getStart_task());
        assertEquals(4, executors.get(2).getRange().getEnd_task());
        assertTrue(topology.isNeeds_scheduling(), "two workers of three");
        assertEquals(3, topology.getWorkers());
        nimbus.unassign("t-1");
        assertNull(take(nimbus.build()).getTopologies().get(0).getExecutors().get(0).getSlot());
    }

    @Test
    void holdsTheKeysThatMatterAsJsonAndNoOthers() {
        Map<String, String> conf = take(nimbus.build()).getTopologies().get(0).getConf();
        assertEquals("\"metis\"", conf.get("topology.brain.algorithm"));
        assertEquals("{\"count\":[\"n1\"]}", conf.get("topology.brain.pin"));
        assertEquals("[\"host-n1\"]", conf.get("topology.scheduler.favored.nodes"));
        assertEquals("3", conf.get("topology.workers"));
        assertEquals("\"t\"", conf.get("topology.name"));
        assertFalse(conf.containsKey("some.password"));
    }

    @Test
    void tellsWhoAsksAndWhatWasRejected() {
        ClusterState state = take(nimbus.build());
        assertEquals("nimbus:6627", state.getNimbus());
        assertEquals("s3cret", state.getToken());
        assertEquals("dead-slot", state.getRejections().get(0).getCode());
        assertEquals(1, state.getProtocol_version());
    }
}
