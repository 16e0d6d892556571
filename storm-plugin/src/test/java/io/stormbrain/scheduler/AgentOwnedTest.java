package io.stormbrain.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.FakeBrain;
import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.ScheduleReply;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.shade.org.apache.zookeeper.KeeperException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Topologies that agents place, without any brain: plans from ZooKeeper, each over the assignment it was made from. */
@Timeout(120)
class AgentOwnedTest {
    private Harness h;

    @BeforeEach
    void start(@TempDir Path dir) throws Exception {
        h = new Harness(dir);
        h.nimbus.conf().put("brain.scheduler.deadline.ms", 20_000);
        h.nimbus.nodes(3, 2).topology("t-1", 2, 1, 2, 1, Map.of(AgentOwned.KEY, AgentOwned.ALGORITHM,
                Pins.KEY, Map.of("words", List.of("host-n3"))));
        h.prepare();
    }

    @AfterEach
    void stop() {
        h.close();
    }

    private Plan planFrom(Cluster cluster, long epoch, String... slots) {
        Plan plan = h.plan("t-1", epoch, slots);
        plan.setBased_on(AgentOwned.digest(AgentOwned.running(cluster, "t-1")));
        return plan;
    }

    private static Map<ExecutorDetails, WorkerSlot> placed(Cluster cluster) {
        return Map.copyOf(AgentOwned.running(cluster, "t-1"));
    }

    @Test
    void aPlanMadeFromWhatRunsIsAppliedWithoutABrain() throws Exception {
        Cluster first = h.round();
        h.stored(planFrom(first, 1, "n1:6700", "n1:6700", "n1:6700", "n3:6700"));
        Cluster second = h.round();
        assertEquals(h.on("t-1", "n1:6700", "n1:6700", "n1:6700", "n3:6700"), placed(second));
        assertTrue(second.getStatusMap().get("t-1").contains("plan epoch 1"), second.getStatusMap().get("t-1"));
    }

    @Test
    void aPlanMadeFromAnotherAssignmentChangesNothing() throws Exception {
        Cluster first = h.round();
        h.stored(planFrom(first, 1, "n1:6700", "n1:6700", "n1:6700", "n3:6700"));
        Cluster second = h.round();
        h.stored(planFrom(first, 2, "n2:6700", "n2:6700", "n2:6700", "n3:6700"));
        Cluster third = h.round();
        assertEquals(placed(second), placed(third));
        assertTrue(third.getStatusMap().get("t-1").contains("other-base"), third.getStatusMap().get("t-1"));
    }

    @Test
    void anOldEpochChangesNothing() throws Exception {
        Cluster first = h.round();
        h.stored(planFrom(first, 5, "n1:6700", "n1:6700", "n1:6700", "n3:6700"));
        Cluster second = h.round();
        h.stored(planFrom(second, 4, "n2:6700", "n2:6700", "n2:6700", "n3:6700"));
        assertEquals(placed(second), placed(h.round()));
    }

    @Test
    void deadSlotsAndSlotsOfOthersAreRefusedAsEver() throws Exception {
        Cluster first = h.round();
        h.stored(planFrom(first, 1, "n9:6700", "n1:6700", "n1:6700", "n3:6700"));
        Cluster second = h.round();
        assertEquals(placed(first), placed(second));
        assertTrue(second.getStatusMap().get("t-1").contains("dead-slot"), second.getStatusMap().get("t-1"));
    }

    @Test
    void whatABrainNamesForARunningTopologyOfAgentsDoesNotCount() throws Exception {
        Cluster first = h.round();
        var ref = h.stored(h.plan("t-1", 7, "n2:6700", "n2:6700", "n2:6700", "n2:6700"));
        h.zookeeper.delete(Harness.path("t-1"));
        try (FakeBrain brain = new FakeBrain()) {
            h.nimbus.conf().put("brain.scheduler.address", brain.address());
            h.prepare();
            brain.does(state -> new ScheduleReply(List.of(ref), 1));
            assertEquals(placed(first), placed(h.round()));
        }
    }

    @Test
    void theFallbackPutsPinnedExecutorsOnTheirHost() {
        Cluster first = h.round();
        placed(first).forEach((executor, slot) -> {
            if (h.nimbus.details("t-1").getExecutorToComponent().get(executor).equals("words")) {
                assertEquals("n3", slot.getNodeId());
            }
        });
        assertTrue(first.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty());
    }

    @Test
    void agentsAreToldWhatRunsAndOthersAreNot() throws Exception {
        h.round();
        String stage = awaited("/stormbrain/stage/t-1");
        assertTrue(stage.contains("\"topology.brain.algorithm\":\"qos-distributed\""), stage);
        assertTrue(stage.contains("\"executor_hash\""), stage);
        String cluster = awaited("/stormbrain/cluster");
        assertTrue(cluster.contains("\"topologies\":[\"t-1\"]"), cluster);
        assertTrue(cluster.contains("\"host\":\"host-n1\""), cluster);
    }

    @Test
    void whereNoTopologyIsOfAgentsNothingIsWritten(@TempDir Path dir) throws Exception {
        try (Harness plain = new Harness(dir)) {
            plain.nimbus.nodes(2, 2).topology("p-1", 1, 1, 1, 1);
            plain.prepare();
            plain.round();
            plain.round();
            assertNull(plain.zookeeper.read("/stormbrain/cluster"));
        }
    }

    @Test
    void stagesOfTopologiesThatEndedUnderAnotherNimbusAreRemoved(@TempDir Path dir) throws Exception {
        h.zookeeper.write("/stormbrain/stage/gone-1", "{}".getBytes());
        h.round();
        awaited("/stormbrain/cluster");
        assertNull(h.zookeeper.read("/stormbrain/stage/gone-1"));
        awaited("/stormbrain/stage/t-1");
        try (Harness plain = new Harness(dir)) { // nor do they need a topology of agents to be removed
            plain.zookeeper.write("/stormbrain/stage/gone-2", "{}".getBytes());
            plain.nimbus.nodes(2, 2).topology("p-1", 1, 1, 1, 1);
            plain.prepare();
            plain.round();
            assertTrue(awaited(plain, "/stormbrain/cluster").contains("\"topologies\":[]"));
            assertNull(plain.zookeeper.read("/stormbrain/stage/gone-2"));
        }
    }

    @Test
    void withCredentialsWhatAgentsAreToldIsNobodyElsesToWrite(@TempDir Path dir) throws Exception {
        try (Harness owner = new Harness(dir)) {
            owner.nimbus.conf().put("brain.scheduler.zookeeper.auth", "brain:secret");
            owner.nimbus.nodes(3, 2).topology("t-1", 2, 1, 2, 1, Map.of(AgentOwned.KEY, AgentOwned.ALGORITHM));
            owner.prepare();
            owner.round();
            awaited(owner, "/stormbrain/cluster");
            for (String path : List.of("/stormbrain/cluster", "/stormbrain/stage/t-1", "/stormbrain/stage/forged")) {
                assertThrows(KeeperException.NoAuthException.class,
                        () -> owner.zookeeper.write(path, "{}".getBytes()), path);
            }
        }
    }

    @Test
    void theDigestIsTheBrains() {
        Map<ExecutorDetails, WorkerSlot> assignment = Map.of(
                new ExecutorDetails(10, 11), new WorkerSlot("n2", 6701),
                new ExecutorDetails(2, 2), new WorkerSlot("n1", 6700));
        assertEquals(io.stormbrain.testing.Plans.sha256("2-2 n1:6700\n10-11 n2:6701\n".getBytes()),
                AgentOwned.digest(assignment));
        assertFalse(AgentOwned.digest(Map.of()).isEmpty());
    }

    private String awaited(String path) throws Exception {
        return awaited(h, path);
    }

    private static String awaited(Harness harness, String path) throws Exception {
        for (int i = 0; i < 400; i++) {
            byte[] data = harness.zookeeper.read(path);
            if (data != null) {
                return new String(data);
            }
            Thread.sleep(25);
        }
        throw new AssertionError("nothing at " + path);
    }
}
