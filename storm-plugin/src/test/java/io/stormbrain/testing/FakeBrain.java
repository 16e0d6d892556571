package io.stormbrain.testing;

import io.stormbrain.thrift.Brain;
import io.stormbrain.thrift.BrainStatus;
import io.stormbrain.thrift.ClusterState;
import io.stormbrain.thrift.PlanRef;
import io.stormbrain.thrift.ScheduleReply;
import io.stormbrain.thrift.WindowReport;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.layered.TFramedTransport;

/** A brain on a real socket that says what the test tells it to. */
public final class FakeBrain implements AutoCloseable {
    /** What schedule() does. */
    public interface Script {
        ScheduleReply answer(ClusterState state) throws TException;
    }

    private final ServerSocket socket;
    private final TThreadPoolServer server;
    private final Thread thread;
    private final BlockingQueue<ClusterState> asked = new LinkedBlockingQueue<>();
    private final BlockingQueue<WindowReport> reports = new LinkedBlockingQueue<>();
    private volatile Script script = state -> reply();
    private volatile String leader;

    public FakeBrain() throws Exception {
        this(0);
    }

    public FakeBrain(int port) throws Exception {
        socket = new ServerSocket();
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        server = new TThreadPoolServer(new TThreadPoolServer.Args(new TServerSocket(socket))
                .processor(new Brain.Processor<>(service()))
                .stopTimeoutUnit(TimeUnit.MILLISECONDS)
                .stopTimeoutVal(100)
                .transportFactory(new TFramedTransport.Factory())
                .protocolFactory(new TBinaryProtocol.Factory()));
        thread = new Thread(server::serve, "fake-brain");
        thread.setDaemon(true);
        thread.start();
    }

    public String address() {
        return "127.0.0.1:" + socket.getLocalPort();
    }

    public int port() {
        return socket.getLocalPort();
    }

    public FakeBrain does(Script newScript) {
        script = newScript;
        return this;
    }

    public FakeBrain names(PlanRef... refs) {
        return does(state -> reply(refs));
    }

    public static ScheduleReply reply(PlanRef... refs) {
        return new ScheduleReply(new ArrayList<>(List.of(refs)), 1);
    }

    /** The snapshots that came, oldest first. */
    public BlockingQueue<ClusterState> asked() {
        return asked;
    }

    public BlockingQueue<WindowReport> reports() {
        return reports;
    }

    /** Makes it say that another brain leads. */
    public void followsTo(String address) {
        leader = address;
    }

    private BrainStatus status() {
        BrainStatus status = new BrainStatus(1, "fake", "0", leader == null, 1, List.of());
        return leader == null ? status : status.setLeader(leader);
    }

    /** Only what the plugin calls; the service may have more for other clients. */
    private Brain.Iface service() {
        return (Brain.Iface) Proxy.newProxyInstance(
                FakeBrain.class.getClassLoader(), new Class<?>[] {Brain.Iface.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "schedule":
                            asked.add((ClusterState) arguments[0]);
                            return script.answer((ClusterState) arguments[0]);
                        case "report":
                            reports.add((WindowReport) arguments[0]);
                            return null;
                        case "status":
                            return status();
                        default:
                            throw new UnsupportedOperationException(method.getName());
                    }
                });
    }

    @Override
    public void close() throws Exception {
        while (!server.isServing()) {
            Thread.onSpinWait(); // stop() before serve() has begun would be forgotten
        }
        server.stop();
        socket.close();
        thread.join();
    }
}
