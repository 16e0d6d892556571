package io.stormbrain.scheduler;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * {@code topology.brain.pin}: component → hosts or supervisor ids. Storm's own schedulers know nothing of it, so what
 * they place is mended here as far as there is room: on its host a pinned executor joins a worker of its topology, or
 * takes a free slot.
 */
final class Pins {
    static final String KEY = "topology.brain.pin";

    private Pins() {
    }

    /**
     * The placement with pinned executors on their hosts, where that can be.
     *
     * @param taken slots that are used by others, or will be
     */
    static Map<ExecutorDetails, WorkerSlot> honoured(
            TopologyDetails topology, Cluster cluster, Map<ExecutorDetails, WorkerSlot> wanted, Set<WorkerSlot> taken) {
        Map<String, Set<String>> pins = pins(topology.getConf().get(KEY), cluster);
        if (pins.isEmpty() || wanted.isEmpty()) {
            return wanted;
        }
        Map<ExecutorDetails, WorkerSlot> mended = new HashMap<>(wanted);
        for (ExecutorDetails executor : ExecutorSet.sorted(topology.getExecutorToComponent())) {
            Set<String> allowed = pins.get(topology.getExecutorToComponent().get(executor));
            WorkerSlot now = mended.get(executor);
            if (allowed == null || now == null || allowed.contains(now.getNodeId())) {
                continue;
            }
            WorkerSlot there = slotOn(allowed, cluster, mended.values(), taken);
            if (there != null) {
                mended.put(executor, there);
            }
        }
        return mended;
    }

    private static WorkerSlot slotOn(
            Set<String> nodes, Cluster cluster, Collection<WorkerSlot> own, Set<WorkerSlot> taken) {
        for (WorkerSlot slot : own) {
            if (nodes.contains(slot.getNodeId())) {
                return slot;
            }
        }
        for (String node : nodes) {
            SupervisorDetails supervisor = cluster.getSupervisorById(node);
            for (Integer port : supervisor.getAllPorts().stream().sorted().toList()) {
                WorkerSlot slot = new WorkerSlot(node, port);
                if (!taken.contains(slot) && !cluster.isBlackListed(node)) {
                    return slot;
                }
            }
        }
        return null;
    }

    /** Component → ids of live supervisors; what cannot be read pins nothing. */
    private static Map<String, Set<String>> pins(Object value, Cluster cluster) {
        Map<String, Set<String>> pins = new TreeMap<>();
        if (value instanceof Map<?, ?> map) {
            map.forEach((component, hosts) -> {
                if (hosts instanceof Collection<?> names) {
                    Set<String> wanted = names.stream().filter(Objects::nonNull).map(Object::toString)
                            .collect(Collectors.toCollection(HashSet::new));
                    Set<String> ids = cluster.getSupervisors().values().stream()
                            .filter(s -> wanted.contains(s.getId()) || wanted.contains(s.getHost()))
                            .map(SupervisorDetails::getId).collect(Collectors.toCollection(java.util.TreeSet::new));
                    if (!ids.isEmpty()) {
                        pins.put(String.valueOf(component), ids);
                    }
                }
            });
        }
        return pins;
    }
}
