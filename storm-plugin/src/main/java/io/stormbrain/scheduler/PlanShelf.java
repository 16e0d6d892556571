package io.stormbrain.scheduler;

import io.stormbrain.common.ZooKeeperAway;
import io.stormbrain.thrift.PlanRef;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plans at hand: read from ZooKeeper on a thread of its own, and remembered for the times when ZooKeeper is away.
 * All methods but the reading itself belong to the scheduling thread.
 */
final class PlanShelf implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PlanShelf.class);

    private final PlanReader reader;
    private final SingleFlight flight = new SingleFlight("brain-plans");
    private final Map<String, StoredPlan> lastRead = new ConcurrentHashMap<>();
    private final Map<String, StoredPlan> lastAccepted = new HashMap<>();

    PlanShelf(PlanReader reader) {
        this.reader = reader;
    }

    /** A plan, or why there is none; both null where the store simply has none. */
    record Loaded(StoredPlan plan, Rejection.Code problem, String message) {
        static final Loaded NONE = new Loaded(null, null, null);
    }

    /** Whether the plan that the brain speaks of has been read already. */
    boolean has(PlanRef ref) {
        StoredPlan plan = lastRead.get(ref.getTopology_id());
        return plan != null && plan.is(ref);
    }

    StoredPlan remembered(String topologyId) {
        return lastRead.get(topologyId);
    }

    /** The last plan of this topology that passed every check. */
    StoredPlan lastAccepted(String topologyId) {
        return lastAccepted.get(topologyId);
    }

    /** The epoch below which plans of this topology are stale. */
    long lastEpoch(String topologyId) {
        StoredPlan plan = lastAccepted.get(topologyId);
        return plan == null ? Long.MIN_VALUE : plan.plan().getEpoch();
    }

    void accept(StoredPlan plan) {
        lastAccepted.put(plan.plan().getTopology_id(), plan);
    }

    /** Forgets topologies that live no more: their ids never come back. */
    void keepOnly(Collection<String> liveIds) {
        lastRead.keySet().retainAll(liveIds);
        lastAccepted.keySet().retainAll(liveIds);
    }

    /** Reads plans until the deadline; what could not be read carries the reason. */
    Map<String, Loaded> load(Set<String> topologyIds, Deadline deadline) {
        if (topologyIds.isEmpty()) {
            return Map.of();
        }
        Map<String, Loaded> done = new ConcurrentHashMap<>();
        String failure = "ZooKeeper was not read";
        try {
            flight.call(() -> {
                readAll(topologyIds, done, deadline);
                return null;
            }, deadline, () -> { });
        } catch (SingleFlight.Busy e) {
            failure = "ZooKeeper still busy: the reading of an earlier round has not ended";
        } catch (TimeoutException e) {
            failure = "ZooKeeper did not answer within the deadline";
        } catch (ExecutionException e) {
            LOG.warn("reading plans from ZooKeeper failed", e.getCause());
            failure = "reading plans failed: " + Words.of(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            failure = "Nimbus interrupted the scheduler";
        }
        Map<String, Loaded> result = new HashMap<>(done);
        for (String id : topologyIds) {
            result.putIfAbsent(id, new Loaded(null, Rejection.Code.ZOOKEEPER, failure));
        }
        return result;
    }

    private void readAll(Set<String> topologyIds, Map<String, Loaded> done, Deadline deadline)
            throws InterruptedException {
        for (String id : topologyIds) {
            if (deadline.passed()) {
                return;
            }
            try {
                StoredPlan plan = reader.read(id, deadline);
                if (plan != null) {
                    lastRead.put(id, plan);
                }
                done.put(id, plan == null ? Loaded.NONE : new Loaded(plan, null, null));
            } catch (PlanCodec.Unreadable e) {
                done.put(id, new Loaded(null, Rejection.Code.UNREADABLE, e.getMessage()));
            } catch (ZooKeeperAway e) {
                done.put(id, new Loaded(null, Rejection.Code.ZOOKEEPER, e.getMessage()));
            }
        }
    }

    @Override
    public void close() {
        flight.close();
    }
}
