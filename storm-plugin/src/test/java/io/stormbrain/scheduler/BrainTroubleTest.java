package io.stormbrain.scheduler;

import static io.stormbrain.testing.TestCluster.where;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.FakeBrain;
import io.stormbrain.testing.RudeServer;
import io.stormbrain.thrift.BadRequest;
import io.stormbrain.thrift.NotLeader;
import io.stormbrain.thrift.Overloaded;
import io.stormbrain.thrift.Unauthorised;
import io.stormbrain.thrift.UnsupportedVersion;
import java.io.DataOutputStream;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.apache.storm.scheduler.Cluster;
import org.apache.thrift.TApplicationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whatever the brain does, topologies get scheduled, and the status says why it was not by the brain. */
@Timeout(120)
class BrainTroubleTest {
    private Harness h;

    @BeforeEach
    void start(@TempDir Path dir) throws Exception {
        h = new Harness(dir);
        h.nimbus.nodes(2, 2).topology("t-1", 2, 1, 2, 1);
        patient();
    }

    @AfterEach
    void stop() {
        h.close();
    }

    private void patient() {
        h.nimbus.conf().put("brain.scheduler.deadline.ms", 20_000);
        h.nimbus.conf().put("brain.scheduler.connect.timeout.ms", 10_000);
    }

    private void impatient() {
        h.nimbus.conf().put("brain.scheduler.deadline.ms", 200);
    }

    private void brainAt(String address) {
        h.nimbus.conf().put("brain.scheduler.address", address);
        h.prepare();
    }

    private void assertFallsBack(String word) {
        Cluster cluster = h.round();
        assertTrue(cluster.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty());
        String status = cluster.getStatusMap().get("t-1");
        assertTrue(status.contains(word) && status.contains("even scheduler used"), status);
        assertEquals(1, h.count("nimbus:num-brain-ask-failures"));
    }

    @Test
    void noBrainAtAll() {
        h.prepare();
        assertFallsBack("no brain leads (znode /stormbrain/leader is absent)");
    }

    @Test
    void nothingListens() throws Exception {
        String address;
        try (FakeBrain gone = new FakeBrain()) {
            address = gone.address();
        }
        brainAt(address);
        assertFallsBack("brain unreachable: " + address + ": Connection refused");
    }

    @Test
    void aLeaderZnodeThatCannotBeRead() throws Exception {
        h.zookeeper.write("/stormbrain/leader", "{}".getBytes());
        h.prepare();
        assertFallsBack("the leader znode holds no \"address\"");
    }

    @Test
    void aBrainOfAnotherVersionRefuses() throws Exception {
        assertRefusal(brain -> brain.does(state -> {
            throw new UnsupportedVersion(2, 1, "update the plugin");
        }), "brain refuses: the brain speaks protocol 2, this plugin 1: update the plugin");
    }

    @Test
    void anOverloadedBrainRefuses() throws Exception {
        assertRefusal(brain -> brain.does(state -> {
            throw new Overloaded("8 requests at once");
        }), "brain refuses: overloaded: 8 requests at once");
    }

    @Test
    void aBadRequestIsNamed() throws Exception {
        assertRefusal(brain -> brain.does(state -> {
            throw new BadRequest("supervisors", "no ids");
        }), "brain refuses: bad request in supervisors: no ids");
    }

    @Test
    void aWrongTokenIsNamedWithoutShowingIt() throws Exception {
        h.nimbus.conf().put("brain.scheduler.token", "s3cret");
        assertRefusal(brain -> brain.does(state -> {
            assertEquals("s3cret", state.getToken());
            throw new Unauthorised("wrong token");
        }), "brain refuses: unauthorised (compare brain.scheduler.token): wrong token");
        assertFalse(io.stormbrain.common.BrainConfig.from(h.nimbus.conf()).toString().contains("s3cret"));
    }

    @Test
    void aBrainWithAnErrorInItselfDoesNoHarm() throws Exception {
        assertRefusal(brain -> brain.does(state -> {
            throw new TApplicationException(TApplicationException.INTERNAL_ERROR, "division by zero");
        }), "brain unreachable");
    }

    private interface Setting {
        void of(FakeBrain brain);
    }

    private void assertRefusal(Setting setting, String words) throws Exception {
        try (FakeBrain brain = new FakeBrain()) {
            setting.of(brain);
            brainAt(brain.address());
            assertFallsBack(words);
        }
    }

    @Test
    void aFollowerSendsUsToTheLeader() throws Exception {
        try (FakeBrain follower = new FakeBrain(); FakeBrain leader = new FakeBrain()) {
            follower.does(state -> {
                throw new NotLeader("ask the other").setLeader(leader.address());
            });
            leader.names(h.stored(h.plan("t-1", 1, "n2:6701")));
            brainAt(follower.address());
            assertEquals(h.on("t-1", "n2:6701"), where(h.round(), "t-1"));
        }
    }

    @Test
    void twoFollowersThatNameEachOtherAreNotFollowedForEver() throws Exception {
        try (FakeBrain one = new FakeBrain(); FakeBrain two = new FakeBrain()) {
            one.does(state -> {
                throw new NotLeader("not me").setLeader(two.address());
            });
            two.does(state -> {
                throw new NotLeader("not me").setLeader(one.address());
            });
            brainAt(one.address());
            assertFallsBack("does not lead either");
            assertEquals(1, two.asked().size());
        }
    }

    @Test
    void theSecondAddressIsTriedIfTheFirstIsDead() throws Exception {
        String dead;
        try (FakeBrain gone = new FakeBrain()) {
            dead = gone.address();
        }
        try (FakeBrain brain = new FakeBrain()) {
            brain.names(h.stored(h.plan("t-1", 1, "n2:6701")));
            brainAt(dead + "," + brain.address());
            assertEquals(h.on("t-1", "n2:6701"), where(h.round(), "t-1"));
        }
    }

    @Test
    void aBrainThatHangsHoldsNothingUp() throws Exception {
        impatient();
        try (RudeServer brain = RudeServer.hanging()) {
            brainAt(brain.address());
            assertFallsBack("brain unreachable");
        }
    }

    @Test
    void aBrainThatDripsHoldsNothingUp() throws Exception {
        impatient();
        CountDownLatch done = new CountDownLatch(1);
        try (RudeServer brain = new RudeServer(socket -> {
            // each byte comes before the socket's own timeout, the whole never
            while (done.getCount() > 0) {
                socket.getOutputStream().write(0);
                done.await(20, java.util.concurrent.TimeUnit.MILLISECONDS);
            }
        })) {
            brainAt(brain.address());
            assertFallsBack("brain unreachable");
        } finally {
            done.countDown();
        }
    }

    @Test
    void aBrainThatClosesMidFrame() throws Exception {
        try (RudeServer brain = new RudeServer(socket -> {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(1000);
            out.write(new byte[10]);
            out.flush();
        })) {
            brainAt(brain.address());
            assertFallsBack("brain unreachable");
        }
    }

    @Test
    void aBrainThatAnnouncesAFrameOfAGigabyte() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        try (RudeServer brain = new RudeServer(socket -> {
            new DataOutputStream(socket.getOutputStream()).writeInt(1 << 30);
            done.await();
        })) {
            brainAt(brain.address());
            assertFallsBack("1073741824");
        } finally {
            done.countDown();
        }
    }

    @Test
    void aBrainThatTalksNonsense() throws Exception {
        try (RudeServer brain = new RudeServer(socket -> {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(8);
            out.write("nonsense".getBytes());
            out.flush();
        })) {
            brainAt(brain.address());
            assertFallsBack("brain unreachable");
        }
    }

    @Test
    void aRunningTopologyIsNotMovedWhileTheBrainIsAway() throws Exception {
        h.stored(h.plan("t-1", 1, "n2:6701"));
        h.nimbus.assign("t-1", "n1:6700");
        h.prepare();
        FreedSlots cluster = new FreedSlots(h.nimbus.build());
        h.round(cluster);
        assertTrue(cluster.freed.isEmpty());
        assertEquals(h.on("t-1", "n1:6700"), where(cluster, "t-1"));
        assertTrue(cluster.getStatusMap().get("t-1").contains("placement kept"), cluster.getStatusMap().get("t-1"));
    }

    @Test
    void aWaitingTopologyGetsItsStoredPlanWhileTheBrainIsAway() throws Exception {
        h.stored(h.plan("t-1", 4, "n2:6701"));
        h.prepare();
        Cluster cluster = h.round();
        assertEquals(h.on("t-1", "n2:6701"), where(cluster, "t-1"));
        assertTrue(cluster.getStatusMap().get("t-1").contains("plan epoch 4 by metis applied from ZooKeeper"),
                cluster.getStatusMap().get("t-1"));
    }

    @Test
    void aStoredPlanThatDoesNotFitLeadsToTheFallback() throws Exception {
        h.stored(h.plan("t-1", 4, "n9:6701"));
        h.prepare();
        assertFallsBack("stored plan epoch 4 rejected, dead-slot");
    }

    @Test
    void garbageInPlaceOfAStoredPlanLeadsToTheFallback() throws Exception {
        h.zookeeper.write(Harness.path("t-1"), new byte[] {1, 2, 3});
        h.prepare();
        assertFallsBack("stored plan not read, unreadable");
    }

    @Test
    void unreadableSettingsDoNotStopNimbus() throws Exception {
        h.nimbus.conf().put("brain.scheduler.deadline.ms", "soon");
        BrainScheduler scheduler = new BrainScheduler();
        scheduler.prepare(h.nimbus.conf(), h.metrics);
        Cluster cluster = h.nimbus.build();
        scheduler.schedule(h.nimbus.topologies(), cluster);
        scheduler.cleanup();
        assertTrue(cluster.getUnassignedExecutors(h.nimbus.details("t-1")).isEmpty());
    }
}
