package io.stormbrain.scheduler;

import io.stormbrain.scheduler.PlanShelf.Loaded;
import io.stormbrain.scheduler.PlanValidator.Verdict;
import io.stormbrain.thrift.PlanRef;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of schedule(), after the brain has been asked.
 *
 * <ol>
 * <li>A topology for which the brain named a plan gets that plan, if it passes every check; this may move it.
 * <li>A topology that is placed by agents and runs whole gets the plan that they wrote, if it is newer than the last
 * and made from what runs; whatever the brain says of it.
 * <li>Any other topology that runs whole stays where it is.
 * <li>One with executors to place gets its stored plan, else its last good one, else the fallback scheduler.
 * </ol>
 */
final class Round {
    private static final Logger LOG = LoggerFactory.getLogger(Round.class);

    private final Topologies topologies;
    private final Cluster cluster;
    private final Answer answer;
    private final PlanShelf shelf;
    private final StatusBoard board;
    private final SchedulerMetrics metrics;
    private final PlanValidator validator;
    private final AssignmentApplier applier;
    private final Map<String, Rejection> rejections = new LinkedHashMap<>();
    private final Map<String, String> forFallback = new TreeMap<>();

    Round(Topologies topologies, Cluster cluster, Answer answer, PlanShelf shelf, StatusBoard board,
            SchedulerMetrics metrics) {
        this.topologies = topologies;
        this.cluster = cluster;
        this.answer = answer;
        this.shelf = shelf;
        this.board = board;
        this.metrics = metrics;
        this.validator = new PlanValidator(cluster);
        this.applier = new AssignmentApplier(cluster);
    }

    /** Places what can be placed by plans; the rest is left for {@link #runFallback}. */
    void applyPlans(Deadline deadline) {
        Map<String, Loaded> loaded = shelf.load(toLoad(), deadline);
        List<String> waiting = new ArrayList<>(new TreeSet<>(answer.refs().keySet()));
        waiting.removeIf(this::ofAgents);
        // A slot that one topology leaves may be what another waits for, so go round while that helps.
        for (boolean progress = true; progress && !waiting.isEmpty(); ) {
            progress = waiting.removeIf(id -> applyNamed(answer.refs().get(id), loaded.get(id)));
        }
        board.gone(rejections.keySet().stream().filter(id -> topologies.getById(id) == null).toList());
        rejections.values().forEach(rejection -> metrics.planRejected());
        for (TopologyDetails topology : Snapshot.sortedById(topologies)) {
            String id = topology.getId();
            if (ofAgents(id)) {
                applyAgents(topology, loaded.get(id));
            } else if (!answer.refs().containsKey(id) || rejections.containsKey(id)) {
                keepOrRestore(topology, loaded.get(id));
            }
        }
    }

    /** Gives the topologies that no plan could place to Storm's own scheduler. */
    void runFallback(FallbackRunner fallback) {
        Map<String, String> remarks = fallback.schedule(cluster, forFallback.keySet());
        forFallback.forEach((id, reason) -> {
            metrics.fallbackUsed();
            int unplaced = cluster.getUnassignedExecutors(topologies.getById(id)).size();
            String remark = remarks.get(id);
            String status = reason + ", " + fallback.name() + " scheduler used"
                    + (unplaced == 0 ? "" : ", but " + unplaced + " executors found no free slot")
                    + (remark == null ? "" : " (" + remark + ")");
            if (answer.answered() && unplaced == 0 && !rejections.containsKey(id)) {
                board.fine(cluster, id, status, note(id)); // a new topology of which the brain knows nothing yet
            } else {
                board.trouble(cluster, id, status, note(id));
            }
        });
    }

    /** By topology id, for the agents. */
    Map<String, Rejection> rejectionsById() {
        return Map.copyOf(rejections);
    }

    /** What was rejected, for the brain to learn with the next snapshot. */
    List<Rejection> rejections() {
        return List.copyOf(rejections.values());
    }

    private Set<String> toLoad() {
        Set<String> ids = new TreeSet<>();
        for (TopologyDetails topology : topologies) {
            PlanRef ref = answer.refs().get(topology.getId());
            if (ofAgents(topology.getId()) || (ref == null ? !runsWhole(topology) : !shelf.has(ref))) {
                ids.add(topology.getId());
            }
        }
        return ids;
    }

    /** Whether agents decide about a topology now: it is theirs, and there is something to decide about. */
    private boolean ofAgents(String id) {
        TopologyDetails topology = topologies.getById(id);
        return topology != null && AgentOwned.is(topology) && runsWhole(topology);
    }

    private void applyAgents(TopologyDetails topology, Loaded loaded) {
        String id = topology.getId();
        StoredPlan plan = loaded == null ? null : loaded.plan();
        if (plan == null || plan.plan().getEpoch() <= shelf.lastEpoch(id)) {
            keep(id, loaded != null && loaded.problem() != null ? "agents: plan not read, " + loaded.message()
                    : "agents: no newer plan");
            return;
        }
        Rejection rejection = apply(topology, plan, null, "in force");
        if (rejection == null) {
            return;
        }
        if (rejection.code() != Rejection.Code.OTHER_BASE) {
            rejections.put(id, rejection);
            metrics.planRejected();
        }
        keep(id, "agents: plan epoch " + rejection.epoch() + " rejected, " + rejection);
    }

    private boolean runsWhole(TopologyDetails topology) {
        return cluster.getUnassignedExecutors(topology).isEmpty();
    }

    /** Whether the plan is dealt with: false means that it may be tried again, once other slots are free. */
    private boolean applyNamed(PlanRef ref, Loaded loaded) {
        String id = ref.getTopology_id();
        TopologyDetails topology = topologies.getById(id);
        Rejection rejection;
        if (topology == null) {
            rejection = new Rejection(id, ref.getEpoch(), Rejection.Code.TOPOLOGY_GONE, "no topology with this id lives");
        } else if (loaded != null && loaded.problem() != null) {
            rejection = new Rejection(id, ref.getEpoch(), loaded.problem(), loaded.message());
        } else if (loaded != null && loaded.plan() == null) {
            rejection = new Rejection(id, ref.getEpoch(), Rejection.Code.UNREACHABLE, "ZooKeeper holds no plan for it");
        } else {
            rejection = apply(topology, loaded == null ? shelf.remembered(id) : loaded.plan(), ref, "in force");
        }
        if (rejection == null) {
            rejections.remove(id);
            return true;
        }
        rejections.put(id, rejection);
        return rejection.code() != Rejection.Code.SHARED_SLOT;
    }

    /** Applies a plan if it fits; the reason if it does not. */
    private Rejection apply(TopologyDetails topology, StoredPlan stored, PlanRef ref, String how) {
        String id = topology.getId();
        AssignmentApplier.Change change;
        try {
            Verdict verdict = validator.judge(topology, stored, ref, shelf.lastEpoch(id));
            if (!verdict.accepted()) {
                return verdict.rejection();
            }
            change = applier.apply(id, verdict.placement());
        } catch (RuntimeException e) {
            LOG.error("topology {}: {} could not be applied, its placement is as before", id, stored.title(), e);
            return new Rejection(id, stored.plan().getEpoch(), Rejection.Code.UNREADABLE,
                    "Storm refused the plan: " + Words.of(e));
        }
        shelf.accept(stored);
        if (!change.nothing()) {
            metrics.planApplied();
            LOG.info("topology {}: {} applied: {} executors moved, {} slots freed, {} slots assigned; reason: {}", id,
                    stored.title(), change.executorsMoved(), change.slotsFreed(), change.slotsAssigned(),
                    stored.plan().getReason());
        }
        String status = stored.title() + " " + how + " " + stored.gain();
        if (answer.answered()) {
            board.fine(cluster, id, "brain: " + status, note(id));
        } else {
            board.trouble(cluster, id, answer.failure() + "; " + status, null);
        }
        return null;
    }

    private void keepOrRestore(TopologyDetails topology, Loaded loaded) {
        String id = topology.getId();
        String reason = reason(id);
        if (runsWhole(topology)) {
            keep(id, reason);
            return;
        }
        String why = "";
        for (Choice choice : choices(id, loaded)) {
            Rejection rejection = apply(topology, choice.plan(), null, choice.how());
            if (rejection == null) {
                return;
            }
            rejections.putIfAbsent(id, rejection);
            why = "; stored plan epoch " + rejection.epoch() + " rejected, " + rejection;
        }
        if (why.isEmpty() && loaded != null && loaded.problem() != null && !answer.refs().containsKey(id)) {
            why = "; stored plan not read, " + loaded.problem().wireName() + ": " + loaded.message();
        }
        forFallback.put(id, reason + why);
    }

    /** A plan that the brain did not name, and how to say that it was applied. */
    private record Choice(StoredPlan plan, String how) {
    }

    private List<Choice> choices(String id, Loaded loaded) {
        List<Choice> choices = new ArrayList<>();
        // Where the brain named a plan, one that is not it, though it lies in ZooKeeper, is not to be trusted.
        if (!answer.refs().containsKey(id) && loaded != null) {
            if (loaded.plan() != null) {
                choices.add(new Choice(loaded.plan(), "applied from ZooKeeper"));
            } else if (loaded.problem() != null && shelf.remembered(id) != null) {
                choices.add(new Choice(shelf.remembered(id), "applied from memory"));
            }
        }
        StoredPlan lastGood = shelf.lastAccepted(id);
        if (lastGood != null && choices.stream().noneMatch(choice -> choice.plan().equals(lastGood))) {
            choices.add(new Choice(lastGood, "applied again"));
        }
        return choices;
    }

    private void keep(String id, String reason) {
        StoredPlan accepted = shelf.lastAccepted(id);
        String kept = reason + ", placement kept" + (accepted == null ? "" : " (" + accepted.title() + ")");
        if (answer.answered() && !rejections.containsKey(id)) {
            board.fine(cluster, id, kept, note(id));
        } else {
            board.trouble(cluster, id, kept, note(id));
        }
    }

    private String reason(String id) {
        Rejection rejection = rejections.get(id);
        if (rejection != null) {
            return "brain: plan epoch " + rejection.epoch() + " rejected, " + rejection;
        }
        return answer.answered() ? "brain: no plan" : answer.failure();
    }

    private String note(String id) {
        return answer.notes().get(id);
    }
}
