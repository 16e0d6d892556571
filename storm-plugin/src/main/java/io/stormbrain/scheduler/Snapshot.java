package io.stormbrain.scheduler;

import io.stormbrain.thrift.ClusterState;
import io.stormbrain.thrift.PlanRejection;
import io.stormbrain.thrift.SupervisorState;
import io.stormbrain.thrift.TopologyState;
import io.stormbrain.thrift.stormbrainConstants;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.utils.VersionInfo;

/** Nimbus's view of the cluster as one Thrift struct. */
final class Snapshot {
    private final String nimbus;
    private final String pluginVersion;
    private final String token;

    /**
     * What stays the same from round to round.
     *
     * @param nimbus host:port of this Nimbus, for the brain's log
     * @param token  shared secret, or null
     */
    Snapshot(String nimbus, String token) {
        this.nimbus = nimbus;
        this.token = token;
        String version = Snapshot.class.getPackage().getImplementationVersion();
        this.pluginVersion = version == null ? "unpacked" : version;
    }

    ClusterState take(Topologies topologies, Cluster cluster, Collection<Rejection> rejections) {
        List<TopologyState> topologyStates = new ArrayList<>();
        for (TopologyDetails topology : sortedById(topologies)) {
            topologyStates.add(TopologySnapshot.of(topology, cluster));
        }
        ClusterState state = new ClusterState(
                stormbrainConstants.PROTOCOL_VERSION, System.currentTimeMillis(), supervisors(cluster), topologyStates);
        List<PlanRejection> told = rejections.stream().map(Rejection::toThrift).toList();
        state.setRejections(told);
        state.setPlugin_version(pluginVersion);
        state.setStorm_version(VersionInfo.getVersion());
        state.setNimbus(nimbus);
        if (token != null) {
            state.setToken(token);
        }
        return state;
    }

    static List<TopologyDetails> sortedById(Topologies topologies) {
        return topologies.getTopologies().stream().sorted(Comparator.comparing(TopologyDetails::getId)).toList();
    }

    private static List<SupervisorState> supervisors(Cluster cluster) {
        Map<String, String> rackOfHost = new HashMap<>();
        cluster.getNetworkTopography().forEach((rack, hosts) -> hosts.forEach(host -> rackOfHost.put(host, rack)));
        List<SupervisorState> states = new ArrayList<>();
        cluster.getSupervisors().values().stream().sorted(Comparator.comparing(SupervisorDetails::getId))
                .forEach(supervisor -> {
                    String host = supervisor.getHost() == null ? supervisor.getId() : supervisor.getHost();
                    SupervisorState state = new SupervisorState(
                            supervisor.getId(), host, supervisor.getAllPorts().stream().sorted().toList());
                    if (rackOfHost.get(host) != null) {
                        state.setRack(rackOfHost.get(host));
                    }
                    if (supervisor.getTotalCpu() > 0) {
                        state.setCpu_capacity(supervisor.getTotalCpu());
                    }
                    if (supervisor.getTotalMemory() > 0) {
                        state.setMemory_capacity_mb(supervisor.getTotalMemory());
                    }
                    state.setBlacklisted(cluster.isBlackListed(supervisor.getId()));
                    states.add(state);
                });
        return states;
    }
}
