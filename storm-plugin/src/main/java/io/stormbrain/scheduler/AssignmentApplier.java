package io.stormbrain.scheduler;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Brings topologies to a wanted placement. Frees only slots of these topologies, and of them only those whose executor
 * set changes; if anything fails, all of them stand again as before.
 */
final class AssignmentApplier {
    private final Cluster cluster;

    AssignmentApplier(Cluster cluster) {
        this.cluster = cluster;
    }

    /** What an application changed; no slots where the placement stood already. */
    record Change(int slotsFreed, int slotsAssigned, int executorsMoved) {
        boolean nothing() {
            return slotsFreed == 0 && slotsAssigned == 0;
        }
    }

    Change apply(String topologyId, Map<ExecutorDetails, WorkerSlot> placement) {
        return apply(Map.of(topologyId, placement));
    }

    /**
     * Applies placements together, so that one topology may take a slot that another of them leaves.
     *
     * @throws RuntimeException as Storm threw it; everything is restored then
     */
    Change apply(Map<String, Map<ExecutorDetails, WorkerSlot>> placements) {
        Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> before = new HashMap<>();
        Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> toAssign = new HashMap<>();
        List<WorkerSlot> toFree = new ArrayList<>();
        int moved = 0;
        for (String id : placements.keySet()) {
            Map<WorkerSlot, Set<ExecutorDetails>> now = slots(current(id));
            Map<WorkerSlot, Set<ExecutorDetails>> wanted = slots(placements.get(id));
            moved += moved(current(id), placements.get(id));
            before.put(id, now);
            toAssign.put(id, without(wanted, now));
            toFree.addAll(without(now, wanted).keySet());
        }
        int assigned = toAssign.values().stream().mapToInt(Map::size).sum();
        try {
            cluster.freeSlots(toFree);
            toAssign.forEach(this::assign);
        } catch (RuntimeException e) {
            restore(before);
            throw e;
        }
        return new Change(toFree.size(), assigned, moved);
    }

    private void assign(String topologyId, Map<WorkerSlot, Set<ExecutorDetails>> slots) {
        slots.forEach((slot, executors) -> cluster.assign(slot, topologyId, executors));
    }

    private void restore(Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> before) {
        for (String id : before.keySet()) {
            cluster.freeSlots(without(slots(current(id)), before.get(id)).keySet());
        }
        before.forEach((id, slots) -> assign(id, without(slots, slots(current(id)))));
    }

    private Map<ExecutorDetails, WorkerSlot> current(String topologyId) {
        SchedulerAssignment assignment = cluster.getAssignmentById(topologyId);
        return assignment == null ? Map.of() : Map.copyOf(assignment.getExecutorToSlot());
    }

    private static Map<WorkerSlot, Set<ExecutorDetails>> slots(Map<ExecutorDetails, WorkerSlot> placement) {
        Map<WorkerSlot, Set<ExecutorDetails>> slots = new HashMap<>();
        placement.forEach((executor, slot) -> slots.computeIfAbsent(slot, k -> new HashSet<>()).add(executor));
        return slots;
    }

    /** The entries of the one that are not just so in the other. */
    private static Map<WorkerSlot, Set<ExecutorDetails>> without(
            Map<WorkerSlot, Set<ExecutorDetails>> one, Map<WorkerSlot, ? extends Collection<ExecutorDetails>> other) {
        Map<WorkerSlot, Set<ExecutorDetails>> rest = new HashMap<>(one);
        rest.entrySet().removeIf(entry -> entry.getValue().equals(other.get(entry.getKey())));
        return rest;
    }

    private static int moved(Map<ExecutorDetails, WorkerSlot> now, Map<ExecutorDetails, WorkerSlot> wanted) {
        int moved = 0;
        for (Map.Entry<ExecutorDetails, WorkerSlot> entry : wanted.entrySet()) {
            if (!entry.getValue().equals(now.get(entry.getKey()))) {
                moved++;
            }
        }
        return moved;
    }
}
