package io.stormbrain.scheduler;

import io.stormbrain.common.BrainConfig;
import io.stormbrain.common.ZooKeeperAway;
import io.stormbrain.common.ZooKeeperLink;
import io.stormbrain.thrift.ClusterState;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.storm.Config;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.utils.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler for Nimbus ({@code storm.scheduler}): snapshot → ask the brain → read plans from ZooKeeper → check →
 * apply; and Storm's own scheduler for whatever no plan places.
 *
 * <p>{@link #schedule} never throws, because an exception that escapes makes Nimbus exit; and the brain and ZooKeeper
 * never hold it past {@value BrainConfig#DEADLINE_MS}, because everything that can block runs on other threads.
 */
public final class BrainScheduler implements IScheduler {
    private static final Logger LOG = LoggerFactory.getLogger(BrainScheduler.class);
    /** The part of the deadline that the brain may use; the rest is for reading plans. */
    private static final double SHARE_OF_BRAIN = 0.75;

    private volatile Parts parts;
    private List<Rejection> toTell = List.of();

    /** Everything that prepare() builds. Storm makes schedulers with an empty constructor, hence not in ours. */
    private record Parts(BrainConfig config, Snapshot snapshot, BrainAsker asker, PlanShelf shelf, StatusBoard board,
            SchedulerMetrics metrics, FallbackRunner fallback, ZooKeeperLink zookeeper, StagePublisher stage) {
    }

    @Override
    public void prepare(Map<String, Object> conf, StormMetricsRegistry metricsRegistry) {
        BrainConfig config = readConfig(conf);
        prepare(conf, metricsRegistry, config, FallbackRunner.prepared(config.fallback(), conf, metricsRegistry));
    }

    void prepare(Map<String, Object> conf, StormMetricsRegistry registry, BrainConfig config, FallbackRunner fallback) {
        ZooKeeperLink zookeeper = new ZooKeeperLink(conf);
        ZooKeeperLink owned =
                config.zookeeperAuth() == null ? zookeeper : new ZooKeeperLink(conf, config.zookeeperAuth());
        parts = new Parts(
                config,
                new Snapshot(nimbus(conf), config.token()),
                new BrainAsker(new BrainClient(config, zookeeper)),
                new PlanShelf(new PlanReader(zookeeper, config.zookeeperRoot())),
                new StatusBoard(),
                new SchedulerMetrics(registry),
                fallback,
                zookeeper,
                new StagePublisher(owned, config.zookeeperRoot()));
        connectInBackground(zookeeper);
        LOG.info("BrainScheduler is ready: {}", config);
    }

    @Override
    public void schedule(Topologies topologies, Cluster cluster) {
        long start = System.nanoTime();
        Parts p = parts;
        try {
            scheduleWithBrain(p, topologies, cluster);
        } catch (Throwable t) {
            fallBack(p, topologies, cluster, t);
        }
        try {
            p.metrics.scheduled(System.nanoTime() - start);
        } catch (Throwable t) {
            LOG.debug("metrics failed", t);
        }
    }

    private void scheduleWithBrain(Parts p, Topologies topologies, Cluster cluster) {
        p.shelf.keepOnly(topologies.getAllIds());
        p.board.keepOnly(topologies.getAllIds());
        ClusterState state = p.snapshot.take(topologies, cluster, toTell);
        Deadline deadline = Deadline.after(p.config.deadlineMs());
        long asking = System.nanoTime();
        Answer answer = p.asker.ask(state, Deadline.after((long) (p.config.deadlineMs() * SHARE_OF_BRAIN)));
        p.metrics.asked(System.nanoTime() - asking, answer.answered());
        p.board.brain(answer.failure());

        Round round = new Round(topologies, cluster, answer, p.shelf, p.board, p.metrics);
        round.applyPlans(deadline);
        round.runFallback(p.fallback);
        p.stage.publish(topologies, cluster, round.rejectionsById());
        // Unanswered, the brain has not heard of the rejections before either.
        if (answer.answered() || toTell.isEmpty()) {
            toTell = round.rejections();
        }
    }

    /** The last resort: whatever broke, topologies that wait get Storm's own scheduler. */
    private static void fallBack(Parts p, Topologies topologies, Cluster cluster, Throwable cause) {
        try {
            LOG.error("BrainScheduler failed, Storm's own scheduler takes this round", cause);
            TreeSet<String> waiting = new TreeSet<>();
            for (TopologyDetails topology : topologies) {
                if (!cluster.getUnassignedExecutors(topology).isEmpty()) {
                    waiting.add(topology.getId());
                }
            }
            p.fallback.schedule(cluster, waiting);
            for (String id : waiting) {
                p.metrics.fallbackUsed();
                p.board.trouble(cluster, id, "brain scheduler failed (" + Words.of(cause) + "), "
                        + p.fallback.name() + " scheduler used", null);
            }
        } catch (Throwable t) {
            LOG.error("the fallback failed too, this round changes nothing more", t);
        }
    }

    @Override
    public Map<?, ?> config() {
        Parts p = parts;
        return p == null ? Map.of() : p.fallback.config();
    }

    @Override
    public void cleanup() {
        Parts p = parts;
        if (p != null) {
            p.asker.close();
            p.shelf.close();
            p.stage.close();
            p.zookeeper.close();
            p.fallback.cleanup();
        }
    }

    private static BrainConfig readConfig(Map<String, Object> conf) {
        try {
            return BrainConfig.from(conf);
        } catch (IllegalArgumentException e) {
            LOG.error("{}. Until that is mended and Nimbus restarted, defaults are used", e.getMessage());
            return BrainConfig.defaults();
        }
    }

    private static String nimbus(Map<String, Object> conf) {
        String host = "unknown";
        try {
            host = Utils.hostname();
        } catch (Exception e) {
            LOG.debug("this Nimbus does not know its host name", e);
        }
        return host + ":" + conf.get(Config.NIMBUS_THRIFT_PORT);
    }

    private static void connectInBackground(ZooKeeperLink zookeeper) {
        Thread connector = new Thread(() -> {
            try {
                zookeeper.start();
            } catch (ZooKeeperAway e) {
                LOG.warn("{}; it is tried again with each round", e.getMessage());
            }
        }, "brain-zookeeper-connect");
        connector.setDaemon(true);
        connector.start();
    }
}
