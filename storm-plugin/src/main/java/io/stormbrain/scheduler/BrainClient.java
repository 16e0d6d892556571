package io.stormbrain.scheduler;

import io.stormbrain.common.BrainAddress;
import io.stormbrain.common.BrainConfig;
import io.stormbrain.common.BrainConnection;
import io.stormbrain.common.LeaderNode;
import io.stormbrain.common.ZooKeeperAway;
import io.stormbrain.common.ZooKeeperLink;
import io.stormbrain.thrift.BadRequest;
import io.stormbrain.thrift.ClusterState;
import io.stormbrain.thrift.NotLeader;
import io.stormbrain.thrift.Overloaded;
import io.stormbrain.thrift.ScheduleReply;
import io.stormbrain.thrift.Unauthorised;
import io.stormbrain.thrift.UnsupportedVersion;
import java.util.ArrayList;
import java.util.List;
import org.apache.thrift.TException;

/**
 * Finds the leading brain and asks it. It may block as long as its deadline says and, in a DNS lookup, longer: so it is
 * only ever called off the scheduling thread. {@link #abort()} ends a call from another thread.
 */
final class BrainClient {
    private final BrainConfig config;
    private final ZooKeeperLink zookeeper;
    private volatile BrainAddress lastGood;
    private volatile BrainConnection current;

    BrainClient(BrainConfig config, ZooKeeperLink zookeeper) {
        this.config = config;
        this.zookeeper = zookeeper;
    }

    /** Asks each candidate in turn until one answers; a brain that does not lead may send us on once. */
    ScheduleReply ask(ClusterState state, Deadline deadline) throws AskFailed, InterruptedException {
        AskFailed last = null;
        for (BrainAddress address : candidates(deadline)) {
            if (last != null && deadline.passed()) {
                break;
            }
            try {
                return askFollowing(address, state, deadline);
            } catch (AskFailed e) {
                if (address.equals(lastGood)) {
                    lastGood = null;
                }
                last = e;
            }
        }
        throw last;
    }

    /** Closes the socket of a call that goes on, if any. */
    void abort() {
        BrainConnection connection = current;
        if (connection != null) {
            connection.close();
        }
    }

    private List<BrainAddress> candidates(Deadline deadline) throws AskFailed, InterruptedException {
        BrainAddress known = lastGood;
        if (!config.addresses().isEmpty()) {
            List<BrainAddress> order = new ArrayList<>(config.addresses());
            if (known != null && order.remove(known)) {
                order.add(0, known);
            }
            return order;
        }
        return known != null ? List.of(known) : List.of(leader(deadline));
    }

    private BrainAddress leader(Deadline deadline) throws AskFailed, InterruptedException {
        String path = LeaderNode.path(config.zookeeperRoot());
        try {
            byte[] data = zookeeper.read(path, deadline.remainingMs());
            if (data == null) {
                throw AskFailed.unreachable("no brain leads (znode " + path + " is absent): start one with "
                        + "`stormbrain serve`", null);
            }
            return LeaderNode.parse(data);
        } catch (ZooKeeperAway | IllegalArgumentException e) {
            throw AskFailed.unreachable("cannot find the leading brain: " + e.getMessage(), e);
        }
    }

    private ScheduleReply askFollowing(BrainAddress address, ClusterState state, Deadline deadline) throws AskFailed {
        try {
            return askOne(address, state, deadline);
        } catch (NotLeader first) {
            BrainAddress leader = redirect(address, first);
            try {
                return askOne(leader, state, deadline);
            } catch (NotLeader second) {
                throw AskFailed.refused(leader + " does not lead either, though " + address + " named it", second);
            }
        }
    }

    private BrainAddress redirect(BrainAddress from, NotLeader answer) throws AskFailed {
        try {
            if (answer.isSetLeader()) {
                return BrainAddress.parse(answer.getLeader());
            }
        } catch (IllegalArgumentException e) {
            throw AskFailed.refused(from + " does not lead and names a leader that cannot be read: " + e.getMessage(), e);
        }
        throw AskFailed.refused(from + " does not lead and knows no leader: " + answer.getMessage(), answer);
    }

    private ScheduleReply askOne(BrainAddress address, ClusterState state, Deadline deadline)
            throws AskFailed, NotLeader {
        try (BrainConnection connection = BrainConnection.to(
                address, config, Math.min(config.connectTimeoutMs(), deadline.remainingMs()),
                deadline.remainingMs())) {
            current = connection;
            connection.open();
            ScheduleReply reply = connection.client().schedule(state);
            lastGood = address;
            return reply;
        } catch (NotLeader e) {
            throw e;
        } catch (UnsupportedVersion e) {
            throw AskFailed.refused("the brain speaks protocol " + e.getBrain_version() + ", this plugin "
                    + e.getShim_version() + ": " + e.getMessage(), e);
        } catch (Overloaded e) {
            throw AskFailed.refused("overloaded: " + e.getMessage(), e);
        } catch (BadRequest e) {
            throw AskFailed.refused("bad request in " + e.getField() + ": " + e.getMessage(), e);
        } catch (Unauthorised e) {
            throw AskFailed.refused("unauthorised (compare " + BrainConfig.TOKEN + "): " + e.getMessage(), e);
        } catch (TException | RuntimeException e) {
            throw AskFailed.unreachable(address + ": " + Words.of(e), e);
        } finally {
            current = null;
        }
    }
}
