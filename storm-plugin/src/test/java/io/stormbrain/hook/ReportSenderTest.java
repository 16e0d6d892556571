package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.common.BrainConfig;
import io.stormbrain.testing.FakeBrain;
import io.stormbrain.testing.TestZooKeeper;
import io.stormbrain.thrift.WindowReport;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ReportSenderTest {
    private static WindowReport report(long sequence) {
        return new WindowReport(1, "t-1", "w", "n", "h", 6700, sequence, 0, 5000, List.of(), List.of());
    }

    private static ReportSender sender(Map<String, Object> conf) {
        Map<String, Object> all = new HashMap<>(Utils.readDefaultConfig());
        all.put("brain.scheduler.connect.timeout.ms", 10_000);
        all.putAll(conf);
        return new ReportSender(BrainConfig.from(all), all, "test-sender");
    }

    @Test
    void theLeaderIsFoundInZooKeeper(@TempDir Path dir) throws Exception {
        try (TestZooKeeper zookeeper = new TestZooKeeper(dir); FakeBrain brain = new FakeBrain()) {
            zookeeper.leader(brain.address());
            Map<String, Object> conf = new HashMap<>();
            zookeeper.into(conf);
            try (ReportSender sender = sender(conf)) {
                sender.start();
                sender.offer(report(0));
                assertNotNull(brain.reports().poll(30, TimeUnit.SECONDS));
            }
        }
    }

    @Test
    void aBrainThatDoesNotLeadSendsTheWorkerOn() throws Exception {
        try (FakeBrain follower = new FakeBrain(); FakeBrain leader = new FakeBrain()) {
            follower.followsTo(leader.address());
            try (ReportSender sender = sender(Map.of("brain.scheduler.address", follower.address()))) {
                sender.start();
                sender.offer(report(0));
                assertNotNull(leader.reports().poll(30, TimeUnit.SECONDS));
                assertTrue(follower.reports().isEmpty());
            }
        }
    }

    @Test
    void theQueueIsShortAndWhatDoesNotFitIsCounted() {
        // never started, so nothing leaves the queue
        ReportSender sender = sender(Map.of("brain.scheduler.address", "127.0.0.1:1"));
        for (int i = 0; i < 100; i++) {
            sender.offer(report(i));
        }
        assertEquals(84, sender.dropped());
    }

    @Test
    void aBrainThatComesLateGetsTheRestAndHearsWhatWasLost() throws Exception {
        int port;
        try (FakeBrain gone = new FakeBrain()) {
            port = gone.port();
        }
        try (ReportSender sender = sender(Map.of("brain.scheduler.address", "127.0.0.1:" + port))) {
            sender.start();
            sender.offer(report(0));
            while (sender.dropped() == 0) {
                Thread.onSpinWait();
            }
            try (FakeBrain brain = new FakeBrain(port)) {
                sender.offer(report(1));
                WindowReport got = brain.reports().poll(40, TimeUnit.SECONDS);
                assertEquals(1, got.getSequence());
                assertTrue(got.getDropped() >= 1);
            }
        }
    }
}
