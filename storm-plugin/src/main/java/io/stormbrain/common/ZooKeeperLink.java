package io.stormbrain.common;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.storm.Config;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFramework;
import org.apache.storm.shade.org.apache.curator.framework.api.BackgroundCallback;
import org.apache.storm.shade.org.apache.zookeeper.KeeperException;
import org.apache.storm.shade.org.apache.zookeeper.ZooDefs;
import org.apache.storm.shade.org.apache.zookeeper.data.ACL;
import org.apache.storm.utils.CuratorUtils;
import org.apache.storm.utils.ObjectReader;
import org.apache.storm.utils.ZookeeperAuthInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Storm's own ZooKeeper with Storm's own settings (servers, port, authentication, TLS), at absolute paths.
 *
 * <p>The connection is made by the first caller and kept up by Curator. No read takes longer than its caller allows:
 * reads run in the background, so that a ZooKeeper that hangs holds nobody.
 */
public final class ZooKeeperLink implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ZooKeeperLink.class);

    private final Map<String, Object> conf;
    private final String digest;
    private CuratorFramework curator;
    private boolean closed;

    public ZooKeeperLink(Map<String, Object> stormConf) {
        this(stormConf, null);
    }

    /**
     * A connection as somebody else than Storm.
     *
     * @param digest {@code user:password} in place of Storm's own credentials: what is made belongs to that user, and
     *               everybody may read it; null for Storm's own
     */
    public ZooKeeperLink(Map<String, Object> stormConf, String digest) {
        this.digest = digest;
        this.conf = new HashMap<>(stormConf);
        // Storm's own patience (5 tries with pauses of seconds) is too much for a scheduling round.
        conf.put(Config.STORM_ZOOKEEPER_RETRY_TIMES, 1);
        conf.put(Config.STORM_ZOOKEEPER_RETRY_INTERVAL, 50);
        conf.put(Config.STORM_ZOOKEEPER_RETRY_INTERVAL_CEILING, 100);
        conf.put(Config.STORM_ZOOKEEPER_SESSION_TIMEOUT,
                ObjectReader.getInt(stormConf.get(Config.STORM_ZOOKEEPER_SESSION_TIMEOUT), 20_000));
        conf.put(Config.STORM_ZOOKEEPER_CONNECTION_TIMEOUT,
                ObjectReader.getInt(stormConf.get(Config.STORM_ZOOKEEPER_CONNECTION_TIMEOUT), 15_000));
    }

    /**
     * The bytes of a znode, or null where there is none.
     *
     * @throws ZooKeeperAway if there is no answer in time; the message says why
     */
    public byte[] read(String path, long timeoutMs) throws ZooKeeperAway, InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        CuratorFramework client = connected(timeoutMs);
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        try {
            client.getData().inBackground((unused, event) -> {
                KeeperException.Code code = KeeperException.Code.get(event.getResultCode());
                if (code == KeeperException.Code.OK) {
                    answer.complete(event.getData());
                } else if (code == KeeperException.Code.NONODE) {
                    answer.complete(null);
                } else {
                    answer.completeExceptionally(KeeperException.create(code, path));
                }
            }).forPath(path);
            return answer.get(Math.max(1, (end - System.nanoTime()) / 1_000_000), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new ZooKeeperAway("ZooKeeper did not answer in time for " + path, e);
        } catch (ExecutionException e) {
            throw new ZooKeeperAway("ZooKeeper: " + e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            throw new ZooKeeperAway("ZooKeeper: " + e, e);
        }
    }

    /**
     * Writes a znode, making it and its parents if there are none.
     *
     * @throws ZooKeeperAway if it is not done in time; it may be done later all the same
     */
    public void write(String path, byte[] data, long timeoutMs) throws ZooKeeperAway, InterruptedException {
        CuratorFramework client = connected(timeoutMs);
        finish(path, timeoutMs, KeeperException.Code.OK,
                callback -> client.create().orSetData().creatingParentsIfNeeded().inBackground(callback)
                        .forPath(path, data));
    }

    /** Removes a znode, if there is one. */
    public void delete(String path, long timeoutMs) throws ZooKeeperAway, InterruptedException {
        CuratorFramework client = connected(timeoutMs);
        finish(path, timeoutMs, KeeperException.Code.NONODE,
                callback -> client.delete().inBackground(callback).forPath(path));
    }

    /**
     * The names of a znode's children; none where there is no znode.
     *
     * @throws ZooKeeperAway if there is no answer in time
     */
    public List<String> children(String path, long timeoutMs) throws ZooKeeperAway, InterruptedException {
        CuratorFramework client = connected(timeoutMs);
        List<String> found = new ArrayList<>();
        finish(path, timeoutMs, KeeperException.Code.NONODE, callback -> client.getChildren().inBackground((c, event) -> {
            if (event.getChildren() != null) {
                found.addAll(event.getChildren());
            }
            callback.processResult(c, event);
        }).forPath(path));
        return found;
    }

    /** A change that is begun in the background with the callback that it is given. */
    private interface Change {
        void begin(BackgroundCallback callback) throws Exception;
    }

    private static void finish(String path, long timeoutMs, KeeperException.Code alsoFine, Change change)
            throws ZooKeeperAway, InterruptedException {
        CompletableFuture<Void> done = new CompletableFuture<>();
        try {
            change.begin((unused, event) -> {
                KeeperException.Code code = KeeperException.Code.get(event.getResultCode());
                if (code == KeeperException.Code.OK || code == alsoFine) {
                    done.complete(null);
                } else {
                    done.completeExceptionally(KeeperException.create(code, path));
                }
            });
            done.get(Math.max(1, timeoutMs), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new ZooKeeperAway("ZooKeeper did not answer in time for " + path, e);
        } catch (ExecutionException e) {
            throw new ZooKeeperAway("ZooKeeper: " + e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            throw new ZooKeeperAway("ZooKeeper: " + e, e);
        }
    }

    /** Begins to connect, without waiting for it. */
    public void start() throws ZooKeeperAway {
        client();
    }

    private CuratorFramework connected(long timeoutMs) throws ZooKeeperAway, InterruptedException {
        CuratorFramework client = client();
        if (!client.getZookeeperClient().isConnected()
                && !client.blockUntilConnected((int) Math.max(1, timeoutMs), TimeUnit.MILLISECONDS)) {
            throw new ZooKeeperAway("no connection to ZooKeeper at " + servers(), null);
        }
        return client;
    }

    private synchronized CuratorFramework client() throws ZooKeeperAway {
        if (closed) {
            throw new ZooKeeperAway("the connection to ZooKeeper is closed", null);
        }
        if (curator == null) {
            CuratorFramework fresh = null;
            try {
                // An empty root, not storm.zookeeper.root: the brain's paths are absolute.
                fresh = CuratorUtils.newCurator(conf, servers(), conf.get(Config.STORM_ZOOKEEPER_PORT), "",
                        digest == null ? new ZookeeperAuthInfo(conf)
                                : new ZookeeperAuthInfo("digest", digest.getBytes(StandardCharsets.UTF_8)),
                        digest == null ? null : ownersAcl());
                fresh.start();
                curator = fresh;
            } catch (RuntimeException e) {
                closeQuietly(fresh);
                throw new ZooKeeperAway("cannot open a connection to ZooKeeper at " + servers() + ": " + e, e);
            }
        }
        return curator;
    }

    /** As the brain's: all to the owner, reading to everybody. */
    private static List<ACL> ownersAcl() {
        List<ACL> acl = new ArrayList<>(ZooDefs.Ids.CREATOR_ALL_ACL);
        acl.addAll(ZooDefs.Ids.READ_ACL_UNSAFE);
        return acl;
    }

    @SuppressWarnings("unchecked")
    private List<String> servers() {
        Object servers = conf.get(Config.STORM_ZOOKEEPER_SERVERS);
        return servers instanceof List ? (List<String>) servers : List.of("localhost");
    }

    @Override
    public synchronized void close() {
        closed = true;
        closeQuietly(curator);
        curator = null;
    }

    private static void closeQuietly(CuratorFramework client) {
        try {
            if (client != null) {
                client.close();
            }
        } catch (RuntimeException e) {
            LOG.debug("closing the connection to ZooKeeper failed", e);
        }
    }
}
