package io.stormbrain.scheduler;

import io.stormbrain.common.BrainConfig;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs one of Storm's own schedulers for chosen topologies, and for these only. */
final class FallbackRunner {
    private static final Logger LOG = LoggerFactory.getLogger(FallbackRunner.class);

    private final IScheduler scheduler;
    private final String name;

    FallbackRunner(IScheduler scheduler, String name) {
        this.scheduler = scheduler;
        this.name = name;
    }

    static FallbackRunner prepared(String name, Map<String, Object> conf, StormMetricsRegistry metrics) {
        IScheduler scheduler = name.equals(BrainConfig.FALLBACK_RESOURCE_AWARE)
                ? new ResourceAwareScheduler() : new GentleScheduler();
        scheduler.prepare(conf, metrics);
        return new FallbackRunner(scheduler, name);
    }

    /** "even" or "resource-aware". */
    String name() {
        return name;
    }

    /**
     * Schedules the topologies, together if that works, else one by one, so that one that fails does not stop the
     * others.
     *
     * @return the scheduler's own words and what went wrong, by topology id; no entry where there is nothing to say
     */
    Map<String, String> schedule(Cluster cluster, Set<String> topologyIds) {
        if (topologyIds.isEmpty()) {
            return Map.of();
        }
        Map<String, String> remarks = new HashMap<>();
        try {
            run(cluster, topologyIds, remarks);
        } catch (Throwable together) {
            LOG.warn("the {} scheduler failed for {}: trying them one by one", name, topologyIds, together);
            for (String id : new TreeSet<>(topologyIds)) {
                try {
                    run(cluster, Set.of(id), remarks);
                } catch (Throwable alone) {
                    LOG.error("the {} scheduler failed for topology {}", name, id, alone);
                    remarks.put(id, "it failed: " + Words.of(alone));
                }
            }
        }
        return remarks;
    }

    private void run(Cluster cluster, Set<String> topologyIds, Map<String, String> remarks) {
        Map<String, String> wordsBefore = Map.copyOf(cluster.getStatusMap());
        FallbackView view = new FallbackView(cluster, topologyIds);
        scheduler.schedule(view.getTopologies(), view);
        Map<String, Map<ExecutorDetails, WorkerSlot>> wanted = new HashMap<>();
        Set<WorkerSlot> taken = new HashSet<>();
        view.getAssignments().values().forEach(assignment -> taken.addAll(assignment.getSlots()));
        for (String id : topologyIds) {
            SchedulerAssignment assignment = view.getAssignmentById(id);
            Map<ExecutorDetails, WorkerSlot> placed = assignment == null ? Map.of() : assignment.getExecutorToSlot();
            Map<ExecutorDetails, WorkerSlot> pinned =
                    Pins.honoured(cluster.getTopologies().getById(id), cluster, placed, taken);
            taken.addAll(pinned.values());
            wanted.put(id, pinned);
        }
        // Whatever the scheduler did to others in its copy is dropped here; if it gave their slots away, this throws.
        new AssignmentApplier(cluster).apply(wanted);
        for (String id : topologyIds) {
            String words = view.getStatusMap().get(id);
            if (words != null && !words.equals(wordsBefore.get(id))) {
                remarks.put(id, words);
            }
        }
    }

    Map<?, ?> config() {
        return scheduler.config();
    }

    void cleanup() {
        scheduler.cleanup();
    }
}
