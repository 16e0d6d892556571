package io.stormbrain.scheduler;

import static io.stormbrain.testing.TestCluster.where;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.TestCluster;
import java.util.Map;
import java.util.Set;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.api.Test;

class FallbackRunnerTest {
    private final TestCluster nimbus = new TestCluster().nodes(2, 2);

    @ParameterizedTest
    @ValueSource(strings = {"even", "resource-aware"})
    void placesOnlyWhatItMay(String kind) {
        nimbus.topology("waiting-1", 2, 1, 2, 1)
                .topology("forbidden-2", 1, 1, 1, 0)
                .topology("narrow-3", 3, 1, 2, 0).assign("narrow-3", "n1:6700");
        Cluster cluster = nimbus.build();
        FallbackRunner fallback = FallbackRunner.prepared(kind, nimbus.conf(), new StormMetricsRegistry());
        try {
            fallback.schedule(cluster, Set.of("waiting-1"));
        } finally {
            fallback.cleanup();
        }
        assertTrue(cluster.getUnassignedExecutors(nimbus.details("waiting-1")).isEmpty());
        assertEquals(Map.of(), where(cluster, "forbidden-2"));
        assertEquals(nimbus.placement("narrow-3", "n1:6700"), where(cluster, "narrow-3"));
        assertTrue(where(cluster, "waiting-1").values().stream().noneMatch(TestCluster.slot("n1:6700")::equals));
    }

    /** So it would go without the view: Storm's scheduler tears down the topology that has fewer workers than asked. */
    @Test
    void stormsSchedulerAloneWouldDisturbATopologyWithFewWorkers() {
        nimbus.topology("narrow-3", 3, 1, 2, 0).assign("narrow-3", "n1:6700");
        Cluster cluster = nimbus.build();
        new DefaultScheduler().schedule(new Topologies(), cluster);
        assertTrue(where(cluster, "narrow-3").values().stream().distinct().count() > 1);
    }

    /** A plan is seldom even; when a node dies, only what ran there is to be placed anew. */
    @Test
    void workersThatRunAreLeftAloneHoweverUnevenTheyAre() {
        TestCluster three = new TestCluster().nodes(3, 2).topology("plan-1", 3, 2, 6, 0);
        Map<ExecutorDetails, WorkerSlot> before = three.placement("plan-1",
                "n1:6700", "n1:6700", "n1:6700", "n1:6700", "n1:6700", "n2:6700", "n3:6700", "n3:6700");
        three.assign("plan-1",
                "n1:6700", "n1:6700", "n1:6700", "n1:6700", "n1:6700", "n2:6700", "n3:6700", "n3:6700");
        Cluster cluster = three.build();
        cluster.freeSlot(TestCluster.slot("n3:6700"));
        FallbackRunner fallback = FallbackRunner.prepared("even", three.conf(), new StormMetricsRegistry());
        try {
            fallback.schedule(cluster, Set.of("plan-1"));
        } finally {
            fallback.cleanup();
        }
        assertTrue(cluster.getUnassignedExecutors(three.details("plan-1")).isEmpty());
        Map<ExecutorDetails, WorkerSlot> after = where(cluster, "plan-1");
        before.forEach((executor, slot) -> {
            if (!slot.equals(TestCluster.slot("n3:6700"))) {
                assertEquals(slot, after.get(executor));
            }
        });
    }

    @Test
    void whereNoSlotIsFreeAllAreUsedAnew() {
        TestCluster full = new TestCluster().nodes(1, 2).topology("full-1", 2, 2, 2, 0)
                .assign("full-1", "n1:6700", "n1:6700", "n1:6701", "n1:6701")
                .topology("other-2", 1, 1, 1, 0);
        Cluster cluster = full.build();
        cluster.freeSlot(TestCluster.slot("n1:6701"));
        cluster.assign(TestCluster.slot("n1:6701"), "other-2", full.details("other-2").getExecutors());
        FallbackRunner fallback = FallbackRunner.prepared("even", full.conf(), new StormMetricsRegistry());
        try {
            fallback.schedule(cluster, Set.of("full-1"));
        } finally {
            fallback.cleanup();
        }
        assertTrue(cluster.getUnassignedExecutors(full.details("full-1")).isEmpty());
    }

    @Test
    void oneTopologyThatFailsDoesNotStopTheOthers() {
        nimbus.topology("bad-1", 1, 1, 1, 0).topology("good-2", 1, 1, 1, 0);
        FallbackRunner fallback = new FallbackRunner(new DefaultScheduler() {
            @Override
            public void schedule(Topologies topologies, Cluster cluster) {
                for (TopologyDetails topology : topologies) {
                    if (topology.getId().equals("bad-1")) {
                        throw new IllegalStateException("bad topology");
                    }
                }
                super.schedule(topologies, cluster);
            }
        }, "even");
        Cluster cluster = nimbus.build();
        Map<String, String> remarks = fallback.schedule(cluster, Set.of("bad-1", "good-2"));
        assertEquals(Map.of("bad-1", "it failed: bad topology"), remarks);
        assertTrue(cluster.getUnassignedExecutors(nimbus.details("good-2")).isEmpty());
        assertEquals(Map.of(), where(cluster, "bad-1"));
    }

    @Test
    void aSchedulerThatStealsIsStopped() {
        nimbus.topology("victim-1", 1, 1, 1, 0).assign("victim-1", "n1:6700").topology("thief-2", 1, 1, 1, 0);
        FallbackRunner fallback = new FallbackRunner(new DefaultScheduler() {
            @Override
            public void schedule(Topologies topologies, Cluster cluster) {
                cluster.freeSlot(TestCluster.slot("n1:6700"));
                cluster.assign(TestCluster.slot("n1:6700"), "thief-2", nimbus.details("thief-2").getExecutors());
            }
        }, "even");
        Cluster cluster = nimbus.build();
        Map<String, String> remarks = fallback.schedule(cluster, Set.of("thief-2"));
        assertTrue(remarks.get("thief-2").contains("already occupied"), remarks.toString());
        assertEquals(nimbus.placement("victim-1", "n1:6700"), where(cluster, "victim-1"));
        assertEquals(Map.of(), where(cluster, "thief-2"));
    }
}
