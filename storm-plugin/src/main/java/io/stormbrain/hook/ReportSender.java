package io.stormbrain.hook;

import io.stormbrain.common.BrainAddress;
import io.stormbrain.common.BrainConfig;
import io.stormbrain.common.BrainConnection;
import io.stormbrain.common.LeaderNode;
import io.stormbrain.common.ZooKeeperAway;
import io.stormbrain.common.ZooKeeperLink;
import io.stormbrain.thrift.BrainStatus;
import io.stormbrain.thrift.WindowReport;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.thrift.TException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends windows to the leading brain: fire and forget, from a short queue, on a daemon thread. What the brain cannot take
 * in time is dropped and counted; while it is away, tries grow rarer. A report is never answered, so a brain that no
 * longer leads would swallow it: hence a connection is made anew now and then, and begins with the question who leads.
 */
final class ReportSender implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ReportSender.class);
    private static final int QUEUE = 16;
    private static final long FIRST_PAUSE_MS = 1000;
    private static final long LONGEST_PAUSE_MS = 30_000;
    private static final int LOOKUP_MS = 5000;
    private static final int ANSWER_TIMEOUT_MS = 5000;
    private static final long CONNECTION_AGE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final BrainConfig config;
    private final Map<String, Object> stormConf;
    private final BlockingQueue<WindowReport> queue = new ArrayBlockingQueue<>(QUEUE);
    private final AtomicLong dropped = new AtomicLong();
    private final Thread thread;
    private volatile boolean closed;
    private BrainConnection connection;
    private long connectedAt;
    private BrainAddress lastGood;
    private int nextAddress;
    private long pauseMs;
    private String lastTrouble;

    ReportSender(BrainConfig config, Map<String, Object> stormConf, String threadName) {
        this.config = config;
        this.stormConf = stormConf;
        this.thread = new Thread(this::run, threadName);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Takes a report if there is room; never waits. */
    void offer(WindowReport report) {
        if (!queue.offer(report)) {
            dropped.incrementAndGet();
        }
    }

    /** Reports that did not reach the brain. */
    long dropped() {
        return dropped.get();
    }

    private void run() {
        try {
            while (!closed || !queue.isEmpty()) {
                WindowReport report = queue.poll(200, TimeUnit.MILLISECONDS);
                if (report != null) {
                    deliver(report);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            disconnect();
        }
    }

    private void deliver(WindowReport report) throws InterruptedException {
        try {
            report.setDropped(dropped.get());
            if (config.token() != null) {
                report.setToken(config.token());
            }
            if (connection != null && System.nanoTime() - connectedAt > CONNECTION_AGE_NANOS) {
                disconnect();
            }
            if (connection == null) {
                connect();
            }
            connection.client().report(report);
            if (lastTrouble != null) {
                LOG.info("windows reach the brain at {} again", connection.address());
                lastTrouble = null;
            }
            pauseMs = 0;
        } catch (TException | ZooKeeperAway | RuntimeException e) {
            disconnect();
            lastGood = null;
            dropped.incrementAndGet();
            String trouble = e.toString();
            if (!trouble.equals(lastTrouble)) {
                lastTrouble = trouble;
                LOG.info("windows do not reach the brain, only the metric log: {}", trouble);
            }
            pause();
        }
    }

    private void connect() throws TException, ZooKeeperAway, InterruptedException {
        BrainAddress address = lastGood != null ? lastGood : address();
        open(address);
        BrainStatus status = connection.client().status(config.token() == null ? "" : config.token());
        if (!status.isLeading()) {
            disconnect();
            if (!status.isSetLeader()) {
                throw new IllegalStateException(address + " does not lead and knows no leader");
            }
            open(BrainAddress.parse(status.getLeader()));
        }
        lastGood = connection.address();
        connectedAt = System.nanoTime();
    }

    private void open(BrainAddress address) throws TException {
        connection = BrainConnection.to(address, config, config.connectTimeoutMs(), ANSWER_TIMEOUT_MS);
        connection.open();
    }

    private BrainAddress address() throws ZooKeeperAway, InterruptedException {
        if (!config.addresses().isEmpty()) {
            return config.addresses().get(Math.floorMod(nextAddress++, config.addresses().size()));
        }
        // A worker asks for the leader seldom, so it keeps no ZooKeeper session for that.
        try (ZooKeeperLink zookeeper = new ZooKeeperLink(stormConf)) {
            return LeaderNode.parse(zookeeper.read(LeaderNode.path(config.zookeeperRoot()), LOOKUP_MS));
        }
    }

    private void pause() throws InterruptedException {
        pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pauseMs * 2));
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs);
        while (!closed && System.nanoTime() - end < 0) {
            Thread.sleep(100);
        }
    }

    private void disconnect() {
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }

    /** Lets the last reports go out, but waits for that only a moment. */
    @Override
    public void close() {
        closed = true;
        try {
            thread.join(1000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        thread.interrupt();
    }
}
