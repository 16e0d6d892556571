package io.stormbrain.scheduler;

import io.stormbrain.thrift.PlacedExecutor;
import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanRef;
import io.stormbrain.thrift.stormbrainConstants;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** Checks a plan against the cluster as it is now. Changes nothing. */
final class PlanValidator {
    private final Cluster cluster;

    PlanValidator(Cluster cluster) {
        this.cluster = cluster;
    }

    /**
     * Either the placement to apply or the reason why not.
     *
     * @param placement the slot of every executor, or null
     * @param rejection why not, or null
     */
    record Verdict(Map<ExecutorDetails, WorkerSlot> placement, Rejection rejection) {
        boolean accepted() {
            return rejection == null;
        }
    }

    /**
     * Judges a plan.
     *
     * @param topology  the live topology that the plan is for, or null if there is none any more
     * @param ref       what the brain said this round, or null if it said nothing
     * @param lastEpoch plans with a smaller epoch are stale
     */
    Verdict judge(TopologyDetails topology, StoredPlan stored, PlanRef ref, long lastEpoch) {
        Plan plan = stored.plan();
        if (topology == null || !topology.getId().equals(plan.getTopology_id())) {
            return reject(plan, Rejection.Code.TOPOLOGY_GONE, "no topology with this id lives");
        }
        if (plan.getProtocol_version() > stormbrainConstants.PROTOCOL_VERSION) {
            return reject(plan, Rejection.Code.UNREADABLE, "the plan needs protocol " + plan.getProtocol_version()
                    + ", this plugin speaks " + stormbrainConstants.PROTOCOL_VERSION + ": update it");
        }
        if (plan.getEpoch() < lastEpoch) {
            return reject(plan, Rejection.Code.STALE_EPOCH, "epoch " + plan.getEpoch() + " after epoch " + lastEpoch);
        }
        if (ref != null && plan.getEpoch() != ref.getEpoch()) {
            return reject(plan, Rejection.Code.STALE_EPOCH, "the brain speaks of epoch " + ref.getEpoch()
                    + ", ZooKeeper holds epoch " + plan.getEpoch());
        }
        if (ref != null && !stored.is(ref)) {
            return reject(plan, Rejection.Code.DIGEST, "the brain speaks of plan " + shortened(ref.getDigest())
                    + ", ZooKeeper holds " + shortened(stored.digest()));
        }
        Rejection executors = checkExecutors(topology, plan);
        if (executors != null) {
            return new Verdict(null, executors);
        }
        Verdict verdict = judgeSlots(plan);
        if (verdict.accepted() && tooManyWorkers(topology, plan, verdict.placement())) {
            return reject(plan, Rejection.Code.WORKERS, "it takes more than the " + topology.getNumWorkers()
                    + " workers that the topology asks for now");
        }
        return verdict.accepted() && madeFromAnother(topology, plan, verdict.placement())
                ? reject(plan, Rejection.Code.OTHER_BASE, "it was made from another assignment than runs now")
                : verdict;
    }

    /** Whoever names the assignment that a plan is for means no other; one that has come true is past asking. */
    private boolean madeFromAnother(TopologyDetails topology, Plan plan, Map<ExecutorDetails, WorkerSlot> placement) {
        if (!plan.isSetBased_on() || !cluster.getUnassignedExecutors(topology).isEmpty()) {
            return false;
        }
        Map<ExecutorDetails, WorkerSlot> running = AgentOwned.running(cluster, topology.getId());
        return !running.equals(placement) && !AgentOwned.digest(running).equalsIgnoreCase(plan.getBased_on());
    }

    /**
     * `storm rebalance -n` is an operator's word, and it counts from the round that it is said in. Agents place an
     * executor where it is best, whatever the number of workers: their plans, which name their base, may take more.
     */
    private static boolean tooManyWorkers(
            TopologyDetails topology, Plan plan, Map<ExecutorDetails, WorkerSlot> placement) {
        return !plan.isSetBased_on() && new HashSet<>(placement.values()).size() > topology.getNumWorkers();
    }

    private Rejection checkExecutors(TopologyDetails topology, Plan plan) {
        Map<ExecutorDetails, String> live = topology.getExecutorToComponent();
        if (!ExecutorSet.hash(live).equalsIgnoreCase(plan.getExecutor_hash())) {
            return rejection(plan, Rejection.Code.EXECUTOR_SET,
                    "the plan is for another executor set than the " + live.size() + " executors that live");
        }
        Set<ExecutorDetails> planned = new HashSet<>();
        for (PlacedExecutor placed : plan.getExecutors()) {
            ExecutorDetails executor = executor(placed);
            if (!live.containsKey(executor)) {
                return rejection(plan, Rejection.Code.EXECUTOR_SET, "executor " + executor + " does not exist");
            }
            if (!planned.add(executor)) {
                return rejection(plan, Rejection.Code.EXECUTOR_SET, "executor " + executor + " is placed twice");
            }
        }
        if (planned.size() != live.size()) {
            return rejection(plan, Rejection.Code.EXECUTOR_SET,
                    (live.size() - planned.size()) + " of " + live.size() + " executors are not placed");
        }
        return null;
    }

    private Verdict judgeSlots(Plan plan) {
        Map<ExecutorDetails, WorkerSlot> placement = new HashMap<>();
        Map<WorkerSlot, String> owners = slotsOfOthers(plan.getTopology_id());
        Map<ExecutorDetails, WorkerSlot> running = AgentOwned.running(cluster, plan.getTopology_id());
        for (PlacedExecutor placed : plan.getExecutors()) {
            WorkerSlot slot = new WorkerSlot(placed.getSlot().getNode(), placed.getSlot().getPort());
            SupervisorDetails supervisor = cluster.getSupervisorById(slot.getNodeId());
            if (supervisor == null) {
                return reject(plan, Rejection.Code.DEAD_SLOT, "supervisor " + slot.getNodeId() + " is not alive");
            }
            // It lives, but takes nobody in. Who runs there already stays, as Storm would have it.
            if (cluster.isBlackListed(slot.getNodeId()) && !slot.equals(running.get(executor(placed)))) {
                return reject(plan, Rejection.Code.DEAD_SLOT, "supervisor " + slot.getNodeId() + " is blacklisted");
            }
            if (!supervisor.getAllPorts().contains(slot.getPort())) {
                return reject(plan, Rejection.Code.DEAD_SLOT, "supervisor " + slot.getNodeId() + " has no usable slot "
                        + slot.getPort());
            }
            String owner = owners.get(slot);
            if (owner != null) {
                return reject(plan, Rejection.Code.SHARED_SLOT, "slot " + slot + " belongs to " + owner);
            }
            placement.put(executor(placed), slot);
        }
        return new Verdict(placement, null);
    }

    /** Includes what was applied earlier in this round, because that stands in the cluster already. */
    private Map<WorkerSlot, String> slotsOfOthers(String topologyId) {
        Map<WorkerSlot, String> owners = new HashMap<>();
        for (SchedulerAssignment assignment : cluster.getAssignments().values()) {
            if (!assignment.getTopologyId().equals(topologyId)) {
                for (WorkerSlot slot : assignment.getSlots()) {
                    owners.put(slot, assignment.getTopologyId());
                }
            }
        }
        return owners;
    }

    private static ExecutorDetails executor(PlacedExecutor placed) {
        return new ExecutorDetails(placed.getRange().getStart_task(), placed.getRange().getEnd_task());
    }

    private static Verdict reject(Plan plan, Rejection.Code code, String message) {
        return new Verdict(null, rejection(plan, code, message));
    }

    private static Rejection rejection(Plan plan, Rejection.Code code, String message) {
        return new Rejection(plan.getTopology_id(), plan.getEpoch(), code, message);
    }

    private static String shortened(String digest) {
        return digest.length() > 12 ? digest.substring(0, 12) + "…" : digest;
    }
}
