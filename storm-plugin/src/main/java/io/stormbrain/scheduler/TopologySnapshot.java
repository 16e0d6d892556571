package io.stormbrain.scheduler;

import io.stormbrain.common.Json;
import io.stormbrain.thrift.ComponentState;
import io.stormbrain.thrift.ExecutorRange;
import io.stormbrain.thrift.ExecutorState;
import io.stormbrain.thrift.Slot;
import io.stormbrain.thrift.StreamInput;
import io.stormbrain.thrift.TopologyState;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** One topology of the snapshot. */
final class TopologySnapshot {
    private static final String BRAIN_KEYS = "topology.brain.";
    private static final Set<String> STORM_KEYS = Set.of(
            Config.TOPOLOGY_NAME,
            Config.TOPOLOGY_WORKERS,
            Config.TOPOLOGY_ACKER_EXECUTORS,
            Config.TOPOLOGY_MAX_SPOUT_PENDING,
            Config.TOPOLOGY_PRIORITY,
            Config.TOPOLOGY_SCHEDULER_FAVORED_NODES,
            Config.TOPOLOGY_SCHEDULER_UNFAVORED_NODES,
            Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT,
            Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB,
            Config.TOPOLOGY_COMPONENT_RESOURCES_OFFHEAP_MEMORY_MB,
            Config.TOPOLOGY_ACKER_CPU_PCORE_PERCENT,
            Config.TOPOLOGY_ACKER_RESOURCES_ONHEAP_MEMORY_MB,
            Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB);

    private TopologySnapshot() {
    }

    static TopologyState of(TopologyDetails topology, Cluster cluster) {
        TopologyState state = new TopologyState(
                topology.getId(),
                topology.getName() == null ? topology.getId() : topology.getName(),
                topology.getNumWorkers(),
                components(topology),
                executors(topology, cluster));
        state.setConf(conf(topology.getConf()));
        state.setNeeds_scheduling(cluster.needsScheduling(topology));
        state.setUptime_secs(Math.max(0, topology.getUpTime()));
        return state;
    }

    private static List<ExecutorState> executors(TopologyDetails topology, Cluster cluster) {
        SchedulerAssignment assignment = cluster.getAssignmentById(topology.getId());
        List<ExecutorState> states = new ArrayList<>();
        for (ExecutorDetails executor : ExecutorSet.sorted(topology.getExecutorToComponent())) {
            ExecutorState state = new ExecutorState(
                    new ExecutorRange(executor.getStartTask(), executor.getEndTask()),
                    topology.getExecutorToComponent().get(executor));
            WorkerSlot slot = assignment == null ? null : assignment.getExecutorToSlot().get(executor);
            if (slot != null) {
                state.setSlot(new Slot(slot.getNodeId(), slot.getPort()));
            }
            states.add(state);
        }
        return states;
    }

    private static List<ComponentState> components(TopologyDetails topology) {
        StormTopology code = topology.getTopology();
        List<ComponentState> states = new ArrayList<>();
        for (var entry : new TreeMap<>(topology.getComponentToExecutors()).entrySet()) {
            String id = entry.getKey();
            boolean spout = code != null && code.get_spouts() != null && code.get_spouts().containsKey(id);
            ComponentState state = new ComponentState(id, spout ? "spout" : "bolt", entry.getValue().size());
            ComponentCommon common = common(code, id);
            if (common != null && common.get_inputs() != null && !common.get_inputs().isEmpty()) {
                state.setInputs(inputs(common.get_inputs()));
            }
            ExecutorDetails any = entry.getValue().iterator().next();
            Double cpu = topology.getTotalCpuReqTask(any);
            if (cpu != null) {
                state.setCpu_percent(cpu);
            }
            Double memory = topology.getTotalMemReqTask(any);
            if (memory != null) {
                state.setMemory_mb(memory);
            }
            states.add(state);
        }
        return states;
    }

    /** The declaration of a component; null for Storm's own, which the topology does not declare. */
    private static ComponentCommon common(StormTopology code, String id) {
        if (code == null) {
            return null;
        }
        if (code.get_spouts() != null && code.get_spouts().containsKey(id)) {
            return code.get_spouts().get(id).get_common();
        }
        if (code.get_bolts() != null && code.get_bolts().containsKey(id)) {
            return code.get_bolts().get(id).get_common();
        }
        return null;
    }

    private static List<StreamInput> inputs(Map<GlobalStreamId, Grouping> declared) {
        List<StreamInput> inputs = new ArrayList<>();
        declared.forEach((stream, grouping) -> {
            StreamInput input = new StreamInput(stream.get_componentId(), stream.get_streamId(), name(grouping));
            if (grouping.is_set_fields() && !grouping.get_fields().isEmpty()) {
                input.setFields(new ArrayList<>(grouping.get_fields()));
            }
            inputs.add(input);
        });
        inputs.sort(Comparator.comparing(StreamInput::getSource_component).thenComparing(StreamInput::getStream));
        return inputs;
    }

    private static String name(Grouping grouping) {
        if (grouping.is_set_fields()) {
            // to Storm, a fields grouping without fields is a global grouping
            return grouping.get_fields().isEmpty() ? "global" : "fields";
        }
        if (grouping.is_set_shuffle()) {
            return "shuffle";
        }
        if (grouping.is_set_all()) {
            return "all";
        }
        if (grouping.is_set_none()) {
            return "none";
        }
        if (grouping.is_set_direct()) {
            return "direct";
        }
        return grouping.is_set_local_or_shuffle() ? "local-or-shuffle" : "custom";
    }

    private static Map<String, String> conf(Map<String, Object> conf) {
        Map<String, String> chosen = new TreeMap<>();
        conf.forEach((key, value) -> {
            if (value != null && (key.startsWith(BRAIN_KEYS) || STORM_KEYS.contains(key))) {
                chosen.put(key, Json.text(value));
            }
        });
        return chosen;
    }
}
