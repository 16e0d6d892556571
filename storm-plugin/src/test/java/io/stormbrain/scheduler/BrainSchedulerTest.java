package io.stormbrain.scheduler;

import static io.stormbrain.testing.TestCluster.slot;
import static io.stormbrain.testing.TestCluster.where;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.FakeBrain;
import io.stormbrain.testing.Plans;
import io.stormbrain.thrift.ClusterState;
import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanRef;
import io.stormbrain.thrift.PlanRejection;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.Topologies;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The whole way from snapshot to moved executors, with real sockets and a real ZooKeeper. */
@Timeout(120)
class BrainSchedulerTest {
    private Harness h;
    private FakeBrain brain;

    @BeforeEach
    void start(@TempDir Path dir) throws Exception {
        h = new Harness(dir);
        brain = new FakeBrain();
        h.zookeeper.leader(brain.address());
        h.nimbus.nodes(3, 2).topology("t-1", 3, 1, 4, 1);
        // a busy test machine must not turn these tests into tests of the deadline
        h.nimbus.conf().put("brain.scheduler.deadline.ms", 30_000);
        h.nimbus.conf().put("brain.scheduler.connect.timeout.ms", 10_000);
    }

    @AfterEach
    void stop() throws Exception {
        h.close();
        brain.close();
    }

    @Test
    void aValidPlanMovesARunningTopology() throws Exception {
        h.prepare();
        Cluster fresh = h.round();
        assertTrue(fresh.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty(), "even places it first");
        assertTrue(fresh.getStatusMap().get("t-1").contains("brain: no plan, even scheduler used"));

        brain.names(h.stored(h.plan("t-1", 1, "n1:6700")));
        Cluster moved = h.round();
        assertEquals(h.on("t-1", "n1:6700"), where(moved, "t-1"));
        assertEquals("brain: plan epoch 1 by metis in force (inter-node 12 → 3)", moved.getStatusMap().get("t-1"));
        assertEquals(1, h.count("nimbus:num-brain-plans-applied"));
    }

    @Test
    void aPlanInForceIsLeftAlone() throws Exception {
        h.prepare();
        brain.names(h.stored(h.plan("t-1", 1, "n1:6700")));
        h.round();
        FreedSlots cluster = new FreedSlots(h.nimbus.build());
        h.round(cluster);
        assertEquals(List.of(), cluster.freed);
        assertEquals(h.on("t-1", "n1:6700"), where(cluster, "t-1"));
        assertEquals(1, h.count("nimbus:num-brain-plans-applied"));
    }

    @Test
    void compressedAndChunkedPlansAreRead() throws Exception {
        h.prepare();
        Plan packed = h.plan("t-1", 1, "n1:6700", "n2:6700");
        h.zookeeper.write(Harness.path("t-1"), Plans.deflated(packed));
        brain.names(Plans.ref(packed));
        assertEquals(h.on("t-1", "n1:6700", "n2:6700"), where(h.round(), "t-1"));

        Plan chunked = h.plan("t-1", 2, "n3:6700", "n3:6701");
        Plans.chunked(h.zookeeper, chunked, 50);
        brain.names(Plans.ref(chunked));
        assertEquals(h.on("t-1", "n3:6700", "n3:6701"), where(h.round(), "t-1"));
    }

    @Test
    void aManifestWithAMissingChunkIsRejected() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700");
        Plan chunked = h.plan("t-1", 2, "n3:6700");
        Plans.chunked(h.zookeeper, chunked, 50);
        h.zookeeper.delete("/stormbrain/chunks/" + Plans.ref(chunked).getDigest() + "/0001");
        brain.names(Plans.ref(chunked));
        assertKeptAndTold("n1:6700", "unreadable", "chunk 0001");
    }

    @Test
    void garbageInTheZnodeIsRejected() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700");
        PlanRef ref = h.stored(h.plan("t-1", 2, "n3:6700"));
        h.zookeeper.write(Harness.path("t-1"), "garbage bytes".getBytes());
        brain.names(ref);
        assertKeptAndTold("n1:6700", "unreadable", "SBPL");
    }

    @Test
    void anAbsentPlanIsRejected() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700");
        brain.names(Plans.ref(h.plan("t-1", 2, "n3:6700")));
        assertKeptAndTold("n1:6700", "unreachable", "no plan");
    }

    @Test
    void aPlanWithAnotherDigestIsRejected() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700");
        brain.names(h.stored(h.plan("t-1", 2, "n3:6700")).setDigest("ab".repeat(32)));
        assertKeptAndTold("n1:6700", "digest", "abababababab");
    }

    @Test
    void anOlderPlanIsRejectedAndTheNewerStays() throws Exception {
        h.prepare();
        brain.names(h.stored(h.plan("t-1", 7, "n1:6700")));
        h.round();
        brain.names(h.stored(h.plan("t-1", 6, "n3:6700")));
        assertKeptAndTold("n1:6700", "stale-epoch", "after epoch 7");
    }

    @Test
    void aPlanForATopologyThatIsGoneIsRejectedAndTold() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700").topology("old-9", 1, 1, 1, 0);
        PlanRef ref = h.stored(h.plan("old-9", 4, "n2:6700"));
        h.nimbus.withoutTopology("old-9");
        brain.names(ref);
        Cluster cluster = h.round();
        assertEquals(h.on("t-1", "n1:6700"), where(cluster, "t-1"));
        assertEquals("topology-gone", toldNext().getCode());
    }

    @Test
    void aRejectedPlanForAWaitingTopologyLeadsToTheLastGoodOne() throws Exception {
        h.prepare();
        brain.names(h.stored(h.plan("t-1", 1, "n1:6700")));
        h.round();
        h.nimbus.unassign("t-1");
        brain.names(h.stored(h.plan("t-1", 2, "n9:6700")));
        Cluster cluster = h.round();
        assertEquals(h.on("t-1", "n1:6700"), where(cluster, "t-1"));
        assertEquals("dead-slot", toldNext().getCode());
    }

    @Test
    void aRejectedPlanForAWaitingTopologyLeadsToTheFallback() throws Exception {
        h.prepare();
        brain.names(h.stored(h.plan("t-1", 2, "n9:6700")));
        Cluster cluster = h.round();
        assertTrue(cluster.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty());
        String status = cluster.getStatusMap().get("t-1");
        assertTrue(status.contains("dead-slot: supervisor n9 is not alive, even scheduler used"), status);
        assertEquals(1, h.count("nimbus:num-brain-plans-rejected"));
        assertEquals(1, h.count("nimbus:num-brain-fallbacks"));
    }

    @Test
    void onlyTheChangedSlotsOfOneOfTwoTopologiesAreFreed() throws Exception {
        h.prepare();
        h.nimbus.topology("other-2", 2, 1, 1, 0).assign("other-2", "n3:6700", "n3:6701")
                .assign("t-1", "n1:6700", "n2:6700");
        brain.names(h.stored(h.plan("t-1", 1, "n1:6700", "n2:6701")), h.stored(h.plan("other-2", 1, "n3:6700", "n3:6701")));
        FreedSlots cluster = new FreedSlots(h.nimbus.build());
        h.round(cluster);
        assertEquals(List.of(slot("n2:6700")), cluster.freed);
        assertEquals(h.on("t-1", "n1:6700", "n2:6701"), where(cluster, "t-1"));
        assertEquals(h.on("other-2", "n3:6700", "n3:6701"), where(cluster, "other-2"));
    }

    @Test
    void aPlanMayTakeTheSlotThatAnotherPlanLeaves() throws Exception {
        h.prepare();
        h.nimbus.topology("zoo-2", 1, 1, 1, 0).assign("zoo-2", "n3:6700").assign("t-1", "n1:6700");
        brain.names(h.stored(h.plan("t-1", 1, "n3:6700")), h.stored(h.plan("zoo-2", 1, "n2:6700")));
        Cluster cluster = h.round();
        assertEquals(h.on("t-1", "n3:6700"), where(cluster, "t-1"));
        assertEquals(h.on("zoo-2", "n2:6700"), where(cluster, "zoo-2"));
        assertEquals(0, h.count("nimbus:num-brain-plans-rejected"));
    }

    @Test
    void aPlanForASlotOfAnotherTopologyIsRejected() throws Exception {
        h.prepare();
        h.nimbus.topology("other-2", 1, 1, 1, 0).assign("other-2", "n3:6700").assign("t-1", "n1:6700");
        brain.names(h.stored(h.plan("t-1", 1, "n3:6700")));
        assertKeptAndTold("n1:6700", "shared-slot", "belongs to other-2");
    }

    /** needsScheduling() is true for ever where a plan uses fewer workers than asked; the fallback must not care. */
    @Test
    void theFallbackDoesNotDisturbAPlanWithFewerWorkersThanAsked() throws Exception {
        h.prepare();
        brain.names(h.stored(h.plan("t-1", 1, "n1:6700")));
        h.round();
        h.nimbus.topology("new-2", 2, 1, 1, 0);
        FreedSlots cluster = new FreedSlots(h.nimbus.build());
        h.round(cluster);
        assertEquals(List.of(), cluster.freed);
        assertEquals(h.on("t-1", "n1:6700"), where(cluster, "t-1"));
        assertTrue(cluster.getUnassignedExecutors(h.nimbus.details("new-2")).isEmpty());
    }

    @Test
    void theFallbackDoesNotDisturbARunningTopologyWithoutAPlan() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700").topology("new-2", 2, 1, 1, 0);
        FreedSlots cluster = new FreedSlots(h.nimbus.build());
        h.round(cluster);
        assertEquals(List.of(), cluster.freed);
        assertEquals(h.on("t-1", "n1:6700"), where(cluster, "t-1"));
    }

    @Test
    void aFallbackThatThrowsDoesNotLeaveSchedule() throws Exception {
        h.prepare(new DefaultScheduler() {
            @Override
            public void schedule(Topologies topologies, Cluster cluster) {
                throw new StackOverflowError("fallback broke");
            }
        });
        Cluster cluster = h.round();
        assertEquals(Map.of(), where(cluster, "t-1"));
        assertTrue(cluster.getStatusMap().get("t-1").contains("fallback broke"), cluster.getStatusMap().get("t-1"));
    }

    @Test
    void aClusterThatThrowsDoesNotLeaveSchedule() {
        h.prepare();
        Cluster broken = new Cluster(h.nimbus.build()) {
            @Override
            public Map<String, List<String>> getNetworkTopography() {
                throw new IllegalStateException("topography broke");
            }
        };
        h.round(broken);
        assertTrue(broken.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty(), "the fallback placed it");
        assertTrue(broken.getStatusMap().get("t-1").contains("topography broke"));
    }

    @Test
    void theBrainsWordsReachTheUi() throws Exception {
        h.prepare();
        h.nimbus.assign("t-1", "n1:6700");
        brain.does(state -> FakeBrain.reply().setNotes(Map.of("t-1", "measuring for 20 s more")));
        assertEquals("brain: no plan, placement kept; measuring for 20 s more", h.round().getStatusMap().get("t-1"));
    }

    @Test
    void aNewLeaderIsFoundAfterTheOldOneWentAway() throws Exception {
        h.prepare();
        h.round();
        brain.close();
        try (FakeBrain next = new FakeBrain()) {
            next.names(h.stored(h.plan("t-1", 3, "n2:6701")));
            h.zookeeper.leader(next.address());
            h.round(); // notices that the old one is gone
            assertEquals(h.on("t-1", "n2:6701"), where(h.round(), "t-1"));
        }
        brain = new FakeBrain();
    }

    private void assertKeptAndTold(String slot, String code, String word) throws Exception {
        Cluster cluster = h.round();
        assertEquals(h.on("t-1", slot), where(cluster, "t-1"));
        String status = cluster.getStatusMap().get("t-1");
        assertTrue(status.contains(code) && status.contains(word) && status.contains("kept"), status);
        PlanRejection told = toldNext();
        assertEquals("t-1", told.getTopology_id());
        assertEquals(code, told.getCode());
        assertTrue(told.getMessage().contains(word), told.getMessage());
    }

    /** What the brain hears with the next snapshot. */
    private PlanRejection toldNext() {
        brain.names();
        h.round();
        List<ClusterState> states = new ArrayList<>(brain.asked());
        List<PlanRejection> told = states.get(states.size() - 1).getRejections();
        assertFalse(told.isEmpty());
        return told.get(0);
    }
}
