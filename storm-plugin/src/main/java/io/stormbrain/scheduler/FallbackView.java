package io.stormbrain.scheduler;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;

/**
 * A copy of the cluster in which a fallback scheduler sees every assignment (so that no slot in use looks free), but is
 * offered only the topologies that it may schedule. Storm's schedulers iterate over what the cluster offers and ignore
 * their {@code topologies} argument; and to them a topology whose plan uses fewer workers than it asked for would need
 * scheduling for ever.
 */
final class FallbackView extends Cluster {
    private final Topologies offered;

    FallbackView(Cluster cluster, Set<String> topologyIds) {
        super(cluster);
        Map<String, TopologyDetails> chosen = new HashMap<>();
        for (TopologyDetails topology : cluster.getTopologies()) {
            if (topologyIds.contains(topology.getId())) {
                chosen.put(topology.getId(), topology);
            }
        }
        this.offered = new Topologies(chosen);
    }

    @Override
    public Topologies getTopologies() {
        return offered;
    }
}
