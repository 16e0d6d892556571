package io.stormbrain.testing;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.Config;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFramework;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.storm.shade.org.apache.curator.retry.RetryOneTime;
import org.apache.storm.shade.org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServer;

/** A real ZooKeeper server in this process, on loopback, that can go away and come back with its data. */
public final class TestZooKeeper implements AutoCloseable {
    private final Path dir;
    private NIOServerCnxnFactory server;
    private final int port;
    private CuratorFramework writer;

    public TestZooKeeper(Path dir) throws Exception {
        this.dir = dir;
        start(0);
        this.port = server.getLocalPort();
    }

    private void start(int onPort) throws Exception {
        server = new NIOServerCnxnFactory();
        server.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), onPort), 0);
        File file = dir.toFile();
        server.startup(new ZooKeeperServer(file, file, 500));
        writer = CuratorFrameworkFactory.newClient("127.0.0.1:" + server.getLocalPort(), 6000, 6000, new RetryOneTime(50));
        writer.start();
        if (!writer.blockUntilConnected(20, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the test's ZooKeeper does not come up");
        }
    }

    public void goAway() {
        writer.close();
        server.shutdown();
    }

    public void comeBack() throws Exception {
        start(port);
    }

    public TestZooKeeper write(String path, byte[] data) throws Exception {
        writer.create().orSetData().creatingParentsIfNeeded().forPath(path, data);
        return this;
    }

    /** The data of a znode, or null. */
    public byte[] read(String path) throws Exception {
        return writer.checkExists().forPath(path) == null ? null : writer.getData().forPath(path);
    }

    public TestZooKeeper delete(String path) throws Exception {
        writer.delete().forPath(path);
        return this;
    }

    public void leader(String address) throws Exception {
        write("/stormbrain/leader", ("{\"address\": \"" + address
                + "\", \"id\": \"b1\", \"term\": 1, \"version\": \"0.1.0\"}").getBytes(StandardCharsets.UTF_8));
    }

    /** Points Storm's settings at this server. */
    public void into(Map<String, Object> conf) {
        conf.put(Config.STORM_ZOOKEEPER_SERVERS, List.of("127.0.0.1"));
        conf.put(Config.STORM_ZOOKEEPER_PORT, port);
        conf.put(Config.STORM_ZOOKEEPER_SESSION_TIMEOUT, 6000);
        conf.put(Config.STORM_ZOOKEEPER_CONNECTION_TIMEOUT, 6000);
    }

    @Override
    public void close() {
        goAway();
    }
}
