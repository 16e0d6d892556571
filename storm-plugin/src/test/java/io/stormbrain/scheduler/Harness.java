package io.stormbrain.scheduler;

import io.stormbrain.common.BrainConfig;
import io.stormbrain.testing.Plans;
import io.stormbrain.testing.TestCluster;
import io.stormbrain.testing.TestZooKeeper;
import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanRef;
import java.nio.file.Path;
import java.util.Map;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.WorkerSlot;

/** A BrainScheduler with a real ZooKeeper, and Nimbus's part played by the test. */
final class Harness implements AutoCloseable {
    final TestCluster nimbus = new TestCluster();
    final TestZooKeeper zookeeper;
    final StormMetricsRegistry metrics = new StormMetricsRegistry();
    private final BrainScheduler scheduler = new BrainScheduler();

    Harness(Path dir) throws Exception {
        zookeeper = new TestZooKeeper(dir);
        zookeeper.into(nimbus.conf());
    }

    Harness prepare() {
        return prepare(new DefaultScheduler());
    }

    Harness prepare(IScheduler fallback) {
        scheduler.prepare(nimbus.conf(), metrics, BrainConfig.from(nimbus.conf()), new FallbackRunner(fallback, "even"));
        return this;
    }

    /** One round of Nimbus; the next one starts from its result. */
    Cluster round() {
        Cluster cluster = nimbus.build();
        scheduler.schedule(nimbus.topologies(), cluster);
        nimbus.adopt(cluster);
        return cluster;
    }

    Cluster round(Cluster cluster) {
        scheduler.schedule(nimbus.topologies(), cluster);
        return cluster;
    }

    Plan plan(String topologyId, long epoch, String... slots) {
        return Plans.plan(nimbus.details(topologyId), epoch, nimbus.placement(topologyId, slots));
    }

    /** Writes a plan to ZooKeeper and returns the brain's reference to it. */
    PlanRef stored(Plan plan) throws Exception {
        zookeeper.write(path(plan.getTopology_id()), Plans.plain(plan));
        return Plans.ref(plan);
    }

    static String path(String topologyId) {
        return "/stormbrain/plans/" + topologyId;
    }

    Map<ExecutorDetails, WorkerSlot> on(String topologyId, String... slots) {
        return nimbus.placement(topologyId, slots);
    }

    long count(String meter) {
        return metrics.getMeter(meter).getCount();
    }

    @Override
    public void close() {
        scheduler.cleanup();
        zookeeper.close();
    }
}
