package io.stormbrain.scheduler;

import static io.stormbrain.testing.TestCluster.slot;
import static io.stormbrain.testing.TestCluster.where;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.Plans;
import io.stormbrain.testing.TestCluster;
import io.stormbrain.thrift.Plan;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.Test;

class AssignmentApplierTest {
    private final TestCluster nimbus = new TestCluster().nodes(3, 2)
            .topology("t-1", 3, 1, 4, 1)
            .topology("other-2", 2, 1, 1, 0);

    @Test
    void freesOnlyTheSlotsThatChange() {
        nimbus.assign("t-1", "n1:6700", "n2:6700", "n3:6700").assign("other-2", "n1:6701", "n2:6701");
        FreedSlots cluster = new FreedSlots(nimbus.build());
        Map<ExecutorDetails, WorkerSlot> wanted = nimbus.placement("t-1", "n1:6700", "n3:6701", "n3:6700");

        AssignmentApplier.Change change = new AssignmentApplier(cluster).apply("t-1", wanted);

        assertEquals(wanted, where(cluster, "t-1"));
        assertEquals(List.of(slot("n2:6700")), cluster.freed);
        assertEquals(new AssignmentApplier.Change(1, 1, 2), change);
        assertEquals(nimbus.placement("other-2", "n1:6701", "n2:6701"), where(cluster, "other-2"));
    }

    @Test
    void touchesNothingIfThePlacementStands() {
        nimbus.assign("t-1", "n1:6700", "n2:6700");
        FreedSlots cluster = new FreedSlots(nimbus.build());
        assertTrue(new AssignmentApplier(cluster).apply("t-1", nimbus.placement("t-1", "n1:6700", "n2:6700")).nothing());
        assertTrue(cluster.freed.isEmpty());
    }

    @Test
    void restoresEverythingIfStormRefusesHalfway() {
        nimbus.assign("t-1", "n1:6700", "n2:6700", "n3:6700").assign("other-2", "n1:6701");
        Cluster cluster = nimbus.build();
        Map<ExecutorDetails, WorkerSlot> before = where(cluster, "t-1");
        // n1:6701 is taken, so assigning it must fail after other slots have been freed and assigned
        Map<ExecutorDetails, WorkerSlot> wanted = nimbus.placement("t-1", "n2:6701", "n1:6701", "n3:6701");

        assertThrows(RuntimeException.class, () -> new AssignmentApplier(cluster).apply("t-1", wanted));

        assertEquals(before, where(cluster, "t-1"));
        assertEquals(nimbus.placement("other-2", "n1:6701"), where(cluster, "other-2"));
        assertEquals(4, cluster.getUsedSlots().size());
    }

    @Test
    void letsTwoTopologiesSwapSlots() {
        nimbus.assign("t-1", "n1:6700").assign("other-2", "n2:6700");
        Cluster cluster = nimbus.build();
        new AssignmentApplier(cluster).apply(Map.of(
                "t-1", nimbus.placement("t-1", "n2:6700"), "other-2", nimbus.placement("other-2", "n1:6700")));
        assertEquals(nimbus.placement("t-1", "n2:6700"), where(cluster, "t-1"));
        assertEquals(nimbus.placement("other-2", "n1:6700"), where(cluster, "other-2"));
    }

    /** Random clusters, random plans, good and bad: a plan changes its own topology or nothing. */
    @Test
    void aPlanNeverTouchesAnotherTopology() {
        int accepted = 0;
        int rejected = 0;
        for (int seed = 0; seed < 400; seed++) {
            Random random = new Random(seed);
            int nodes = 1 + random.nextInt(4);
            int slots = 1 + random.nextInt(3);
            TestCluster world = new TestCluster().nodes(nodes, slots);
            int topologies = 1 + random.nextInt(3);
            Map<WorkerSlot, Boolean> taken = new HashMap<>();
            for (int t = 0; t < topologies; t++) {
                String id = "t" + t + "-1";
                world.topology(id, 1 + random.nextInt(8), 1, 1 + random.nextInt(5), random.nextInt(2));
                Map<ExecutorDetails, WorkerSlot> placement = new HashMap<>();
                for (ExecutorDetails executor : world.executors(id)) {
                    WorkerSlot slot = randomSlot(random, nodes, slots);
                    if (!taken.containsKey(slot) || placement.containsValue(slot)) {
                        taken.put(slot, true);
                        placement.put(executor, slot);
                    }
                }
                world.assign(id, placement);
            }
            Cluster cluster = world.build();
            Map<String, Map<ExecutorDetails, WorkerSlot>> before = new HashMap<>();
            world.topologies().getAllIds().forEach(id -> before.put(id, where(cluster, id)));

            Map<ExecutorDetails, WorkerSlot> wanted = new HashMap<>();
            for (ExecutorDetails executor : world.executors("t0-1")) {
                wanted.put(executor, randomSlot(random, nodes, slots + random.nextInt(2)));
            }
            Plan plan = Plans.plan(world.details("t0-1"), 1, wanted);
            PlanValidator.Verdict verdict = new PlanValidator(cluster)
                    .judge(world.details("t0-1"), new StoredPlan(plan, ""), null, 0);
            if (verdict.accepted()) {
                new AssignmentApplier(cluster).apply("t0-1", verdict.placement());
                before.put("t0-1", wanted);
                accepted++;
            } else {
                rejected++;
            }
            before.forEach((id, placement) -> assertEquals(placement, where(cluster, id), "topology " + id));
            assertEquals(before.values().stream().mapToLong(p -> p.values().stream().distinct().count()).sum(),
                    cluster.getUsedSlots().size(), "seed " + seed);
        }
        assertTrue(accepted > 50 && rejected > 50, accepted + " accepted, " + rejected + " rejected");
    }

    private static WorkerSlot randomSlot(Random random, int nodes, int slots) {
        return new WorkerSlot("n" + (1 + random.nextInt(nodes)), TestCluster.FIRST_PORT + random.nextInt(slots));
    }
}
