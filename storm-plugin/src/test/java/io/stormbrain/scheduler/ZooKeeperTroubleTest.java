package io.stormbrain.scheduler;

import static io.stormbrain.testing.TestCluster.where;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.FakeBrain;
import io.stormbrain.thrift.PlanRef;
import java.nio.file.Path;
import org.apache.storm.scheduler.Cluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** ZooKeeper goes away, and comes back. */
@Timeout(120)
class ZooKeeperTroubleTest {
    private Harness h;
    private FakeBrain brain;

    @BeforeEach
    void start(@TempDir Path dir) throws Exception {
        h = new Harness(dir);
        brain = new FakeBrain();
        h.nimbus.nodes(2, 2).topology("t-1", 2, 1, 2, 1);
        h.nimbus.conf().put("brain.scheduler.address", brain.address());
        h.nimbus.conf().put("brain.scheduler.deadline.ms", 1500);
    }

    @AfterEach
    void stop() throws Exception {
        h.close();
        brain.close();
    }

    @Test
    void aNewTopologyIsScheduledWithoutZooKeeper() {
        h.zookeeper.goAway();
        h.prepare();
        Cluster cluster = h.round();
        assertTrue(cluster.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty());
        assertTrue(cluster.getStatusMap().get("t-1").contains("zookeeper"), cluster.getStatusMap().get("t-1"));
    }

    @Test
    void theLastPlanIsRememberedWhileZooKeeperIsAway() throws Exception {
        h.prepare();
        PlanRef ref = h.stored(h.plan("t-1", 1, "n2:6701"));
        brain.names(ref);
        roundUntil("plan epoch 1");
        h.zookeeper.goAway();
        brain.names();
        h.nimbus.unassign("t-1");
        Cluster cluster = h.round();
        assertEquals(h.on("t-1", "n2:6701"), where(cluster, "t-1"));
        assertTrue(cluster.getStatusMap().get("t-1").contains("from memory"), cluster.getStatusMap().get("t-1"));
    }

    @Test
    void aNewPlanIsRejectedWhileZooKeeperIsAwayAndAppliedWhenItIsBack() throws Exception {
        h.prepare();
        brain.names(h.stored(h.plan("t-1", 1, "n1:6700")));
        roundUntil("plan epoch 1");
        PlanRef next = h.stored(h.plan("t-1", 2, "n2:6701"));
        h.zookeeper.goAway();
        brain.names(next);
        Cluster away = h.round();
        assertEquals(h.on("t-1", "n1:6700"), where(away, "t-1"));
        assertTrue(away.getStatusMap().get("t-1").contains("zookeeper"), away.getStatusMap().get("t-1"));
        h.zookeeper.comeBack();
        roundUntil("plan epoch 2 by metis in force");
        assertEquals(h.on("t-1", "n2:6701"), where(h.round(), "t-1"));
    }

    /** Rounds go on as Nimbus's would; the test's own timeout ends it if the state never comes. */
    private void roundUntil(String words) {
        String status;
        do {
            status = h.round().getStatusMap().get("t-1");
        } while (!status.contains(words));
    }
}
