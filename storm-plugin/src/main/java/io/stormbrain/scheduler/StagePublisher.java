package io.stormbrain.scheduler;

import io.stormbrain.common.Json;
import io.stormbrain.common.LeaderNode;
import io.stormbrain.common.ZooKeeperAway;
import io.stormbrain.common.ZooKeeperLink;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells agents what Nimbus knows: {@code <root>/cluster} (supervisors, slots in use, which topologies are theirs) and
 * {@code <root>/stage/<topology-id>} for each of their topologies. Where there is none, nothing is ever written.
 *
 * <p>Only the leading Nimbus calls its scheduler, so this one may also remove what is not its own: once at the start and
 * then each minute, stages of topologies that ended while another Nimbus led, or none; and stages that somebody has
 * removed are written again.
 *
 * <p>Writing happens on a thread of its own, at most one round behind; what did not change is not written again. If it
 * fails, agents see old news, decide from it, and the plan is refused as made from another assignment.
 */
final class StagePublisher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StagePublisher.class);
    private static final long WRITE_MS = 5_000;
    private static final long SWEEP_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final String STAGES = "stage";

    private final ZooKeeperLink zookeeper;
    private final String root;
    private final Map<String, String> written = new ConcurrentHashMap<>();
    private final ThreadPoolExecutor writer;
    private volatile String failure;
    private volatile boolean swept;
    private long sweptNanos;

    StagePublisher(ZooKeeperLink zookeeper, String root) {
        this.zookeeper = zookeeper;
        this.root = root;
        // One thread and one waiting round: a ZooKeeper that hangs holds nobody, later rounds replace earlier ones.
        this.writer = new ThreadPoolExecutor(0, 1, 30, TimeUnit.SECONDS, new ArrayBlockingQueue<>(1), task -> {
            Thread thread = new Thread(task, "brain-stage");
            thread.setDaemon(true);
            return thread;
        }, new ThreadPoolExecutor.DiscardOldestPolicy());
    }

    /** Called at the end of a round; returns at once. */
    void publish(Topologies topologies, Cluster cluster, Map<String, Rejection> rejections) {
        Map<String, String> texts = new LinkedHashMap<>();
        List<TopologyDetails> owned =
                Snapshot.sortedById(topologies).stream().filter(AgentOwned::is).toList();
        if (owned.isEmpty() && written.isEmpty() && swept) {
            return;
        }
        for (TopologyDetails topology : owned) {
            texts.put(STAGES + "/" + topology.getId(), stage(topology, cluster, rejections.get(topology.getId())));
        }
        // Last, so that whoever reads of a topology there finds its stage.
        texts.put("cluster", cluster(cluster, owned));
        writer.execute(() -> write(texts, !owned.isEmpty()));
    }

    private void write(Map<String, String> texts, boolean needed) {
        try {
            boolean leftovers = sweep(texts);
            if (!needed && !leftovers && written.isEmpty()) {
                return; // there is nobody to tell
            }
            for (Map.Entry<String, String> entry : texts.entrySet()) {
                if (!entry.getValue().equals(written.get(entry.getKey()))) {
                    zookeeper.write(LeaderNode.child(root, entry.getKey()),
                            entry.getValue().getBytes(StandardCharsets.UTF_8), WRITE_MS);
                    written.put(entry.getKey(), entry.getValue());
                }
            }
            for (String gone : new TreeSet<>(written.keySet())) {
                if (!texts.containsKey(gone)) {
                    zookeeper.delete(LeaderNode.child(root, gone), WRITE_MS);
                    written.remove(gone);
                }
            }
            failure = null;
        } catch (ZooKeeperAway e) {
            if (!e.getMessage().equals(failure)) {
                failure = e.getMessage();
                LOG.warn("agents are not told of the assignment: {}", e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            LOG.warn("agents are not told of the assignment", e);
        }
    }

    /** Makes the stages in ZooKeeper those that there are; whether there were others. */
    private boolean sweep(Map<String, String> texts) throws ZooKeeperAway, InterruptedException {
        long now = System.nanoTime();
        if (swept && now - sweptNanos < SWEEP_NANOS) {
            return false;
        }
        TreeSet<String> there = new TreeSet<>();
        zookeeper.children(LeaderNode.child(root, STAGES), WRITE_MS).forEach(id -> there.add(STAGES + "/" + id));
        written.keySet().removeIf(key -> key.startsWith(STAGES + "/") && !there.contains(key));
        boolean leftovers = false;
        for (String stage : there) {
            if (!texts.containsKey(stage)) {
                zookeeper.delete(LeaderNode.child(root, stage), WRITE_MS);
                written.remove(stage);
                leftovers = true;
                LOG.info("{} was left behind and is removed: that topology is gone", stage);
            }
        }
        swept = true;
        sweptNanos = now;
        return leftovers;
    }

    private static String stage(TopologyDetails topology, Cluster cluster, Rejection rejection) {
        Map<ExecutorDetails, WorkerSlot> running = AgentOwned.running(cluster, topology.getId());
        List<List<Object>> executors = new ArrayList<>();
        for (ExecutorDetails executor : ExecutorSet.sorted(topology.getExecutorToComponent())) {
            List<Object> row = new ArrayList<>();
            row.add(executor.getStartTask());
            row.add(executor.getEndTask());
            row.add(topology.getExecutorToComponent().get(executor));
            WorkerSlot slot = running.get(executor);
            if (slot != null) {
                row.add(slot.getNodeId());
                row.add(slot.getPort());
            }
            executors.add(row);
        }
        Map<String, Object> stage = new LinkedHashMap<>();
        stage.put("v", 1);
        stage.put("topology", topology.getId());
        stage.put("name", topology.getName() == null ? topology.getId() : topology.getName());
        stage.put("workers", topology.getNumWorkers());
        stage.put("conf", brainKeys(topology.getConf()));
        stage.put("executor_hash", ExecutorSet.hash(topology.getExecutorToComponent()));
        stage.put("executors", executors);
        if (rejection != null) {
            stage.put("rejected", Map.of("epoch", rejection.epoch(), "why", rejection.toString()));
        }
        return Json.text(stage);
    }

    private static Map<String, Object> brainKeys(Map<String, Object> conf) {
        Map<String, Object> keys = new TreeMap<>();
        conf.forEach((key, value) -> {
            if (value != null && key.startsWith("topology.brain.")) {
                keys.put(key, value);
            }
        });
        return keys;
    }

    private static String cluster(Cluster cluster, List<TopologyDetails> owned) {
        List<Map<String, Object>> supervisors = new ArrayList<>();
        for (SupervisorDetails supervisor : new TreeMap<>(cluster.getSupervisors()).values()) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("id", supervisor.getId());
            entry.put("host", supervisor.getHost() == null ? supervisor.getId() : supervisor.getHost());
            entry.put("ports", supervisor.getAllPorts().stream().sorted().toList());
            entry.put("blacklisted", cluster.isBlackListed(supervisor.getId()));
            supervisors.add(entry);
        }
        Map<String, TreeSet<Integer>> used = new TreeMap<>();
        for (SchedulerAssignment assignment : cluster.getAssignments().values()) {
            for (WorkerSlot slot : assignment.getSlots()) {
                used.computeIfAbsent(slot.getNodeId(), node -> new TreeSet<>()).add(slot.getPort());
            }
        }
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("v", 1);
        all.put("supervisors", supervisors);
        all.put("used", used);
        all.put("topologies", owned.stream().map(TopologyDetails::getId).toList());
        return Json.text(all);
    }

    @Override
    public void close() {
        writer.shutdownNow();
        zookeeper.close();
    }
}
