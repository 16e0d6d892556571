package io.stormbrain.scheduler;

import java.util.Map;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;

/**
 * Storm's default scheduler, which leaves alone what runs. The default one first frees every slot whose number of
 * executors is not what an even spread would give: after a brain's plan that is nearly each of them, so that the death of
 * one node would restart the workers of all others. Here the even scheduler fills up what is missing; only where that does
 * not place everything (no slot is left) the default one may tear down.
 */
final class GentleScheduler implements IScheduler {
    private final IScheduler last = new DefaultScheduler();

    @Override
    public void prepare(Map<String, Object> conf, StormMetricsRegistry metricsRegistry) {
        last.prepare(conf, metricsRegistry);
    }

    @Override
    public void schedule(Topologies topologies, Cluster cluster) {
        EvenScheduler.scheduleTopologiesEvenly(topologies, cluster);
        for (TopologyDetails topology : topologies) {
            if (!cluster.getUnassignedExecutors(topology).isEmpty()) {
                last.schedule(topologies, cluster);
                return;
            }
        }
    }

    @Override
    public Map<String, Map<String, Double>> config() {
        return Map.of();
    }

    @Override
    public void cleanup() {
        last.cleanup();
    }
}
