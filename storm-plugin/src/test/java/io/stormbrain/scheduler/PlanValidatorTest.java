package io.stormbrain.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.Plans;
import io.stormbrain.testing.TestCluster;
import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanRef;
import io.stormbrain.thrift.Slot;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.Test;

class PlanValidatorTest {
    private final TestCluster nimbus = new TestCluster().nodes(3, 2)
            .topology("t-1", 2, 1, 3, 1)
            .topology("other-2", 1, 1, 1, 0);
    private final Map<ExecutorDetails, WorkerSlot> wanted = nimbus.placement("t-1", "n1:6700", "n2:6700");
    private final Plan plan = Plans.plan(nimbus.details("t-1"), 5, wanted);

    @Test
    void acceptsAPlanThatFits() throws Exception {
        PlanValidator.Verdict verdict = judge(nimbus.build(), plan, Plans.ref(plan), 5);
        assertNull(verdict.rejection());
        assertEquals(wanted, verdict.placement());
    }

    @Test
    void rejectsAnOlderEpochThanSeenBefore() {
        assertRejected(Rejection.Code.STALE_EPOCH, "after epoch 6", judge(nimbus.build(), plan, null, 6));
    }

    @Test
    void rejectsAnotherEpochThanTheBrainNamed() throws Exception {
        PlanRef ref = Plans.ref(plan).setEpoch(7);
        assertRejected(Rejection.Code.STALE_EPOCH, "epoch 7", judge(nimbus.build(), plan, ref, 5));
    }

    @Test
    void rejectsAnotherPlanThanTheBrainNamed() throws Exception {
        PlanRef ref = Plans.ref(plan).setDigest("0".repeat(64));
        assertRejected(Rejection.Code.DIGEST, "000000000000…", judge(nimbus.build(), plan, ref, 5));
    }

    @Test
    void rejectsAPlanForATopologyThatIsGone() {
        nimbus.withoutTopology("t-1");
        assertRejected(Rejection.Code.TOPOLOGY_GONE, "lives", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsAPlanForATopologyOfTheSameNameButAnotherId() {
        nimbus.topology("t-2", 2, 1, 3, 1);
        PlanValidator.Verdict verdict = new PlanValidator(nimbus.build())
                .judge(nimbus.details("t-2"), stored(plan), null, 0);
        assertRejected(Rejection.Code.TOPOLOGY_GONE, "lives", verdict);
    }

    @Test
    void rejectsAnotherExecutorSet() {
        nimbus.topology("t-1", 2, 1, 4, 1);
        assertRejected(Rejection.Code.EXECUTOR_SET, "another executor set", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsAPlanThatLeavesAnExecutorOut() {
        plan.getExecutors().remove(0);
        assertRejected(Rejection.Code.EXECUTOR_SET, "1 of 5", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsAPlanThatPlacesAnExecutorTwice() {
        plan.getExecutors().set(0, plan.getExecutors().get(1));
        assertRejected(Rejection.Code.EXECUTOR_SET, "twice", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsAPlanThatPlacesAnUnknownExecutor() {
        plan.getExecutors().get(0).getRange().setStart_task(99).setEnd_task(99);
        assertRejected(Rejection.Code.EXECUTOR_SET, "does not exist", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsASlotOnADeadSupervisor() {
        nimbus.withoutNode("n2");
        assertRejected(Rejection.Code.DEAD_SLOT, "n2 is not alive", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsASlotThatTheSupervisorDoesNotHave() {
        plan.getExecutors().get(0).setSlot(new Slot("n1", 9999));
        assertRejected(Rejection.Code.DEAD_SLOT, "no usable slot 9999", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsASlotOnABlacklistedSupervisor() {
        Cluster cluster = nimbus.build();
        cluster.setBlacklistedHosts(Set.of("host-n1"));
        assertRejected(Rejection.Code.DEAD_SLOT, "n1 is blacklisted", judge(cluster, plan, null, 0));
    }

    @Test
    void acceptsWhatRunsOnABlacklistedSupervisorAlready() {
        nimbus.assign("t-1", wanted);
        Cluster cluster = nimbus.build();
        cluster.setBlacklistedHosts(Set.of("host-n1"));
        assertTrue(judge(cluster, plan, null, 0).accepted());
    }

    @Test
    void rejectsAnExecutorThatIsNewToABlacklistedSupervisor() {
        nimbus.assign("t-1", nimbus.placement("t-1", "n2:6700", "n1:6700"));
        Cluster cluster = nimbus.build();
        cluster.setBlacklistedHosts(Set.of("host-n1"));
        assertRejected(Rejection.Code.DEAD_SLOT, "n1 is blacklisted", judge(cluster, plan, null, 0));
    }

    @Test
    void rejectsMoreWorkersThanTheTopologyAsksForSinceARebalance() {
        nimbus.topology("t-1", 1, 1, 3, 1);
        assertRejected(Rejection.Code.WORKERS, "more than the 1 workers", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void rejectsASlotOfAnotherTopology() {
        nimbus.assign("other-2", "n2:6700");
        assertRejected(Rejection.Code.SHARED_SLOT, "n2:6700 belongs to other-2", judge(nimbus.build(), plan, null, 0));
    }

    @Test
    void acceptsSlotsThatTheTopologyItselfHolds() {
        nimbus.assign("t-1", "n1:6700", "n3:6701");
        assertTrue(judge(nimbus.build(), plan, null, 0).accepted());
    }

    @Test
    void rejectsAPlanOfANewerProtocol() {
        plan.setProtocol_version(2);
        assertRejected(Rejection.Code.UNREADABLE, "protocol 2", judge(nimbus.build(), plan, null, 0));
    }

    private PlanValidator.Verdict judge(Cluster cluster, Plan judged, PlanRef ref, long lastEpoch) {
        return new PlanValidator(cluster).judge(nimbus.details("t-1"), stored(judged), ref, lastEpoch);
    }

    private static StoredPlan stored(Plan plan) {
        try {
            return PlanCodec.decode(Plans.plain(plan)).plan();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static void assertRejected(Rejection.Code code, String word, PlanValidator.Verdict verdict) {
        assertNull(verdict.placement());
        assertEquals(code, verdict.rejection().code());
        assertTrue(verdict.rejection().message().contains(word), verdict.rejection().message());
        assertEquals("t-1", verdict.rejection().topologyId());
        assertEquals(5, verdict.rejection().epoch());
    }
}
