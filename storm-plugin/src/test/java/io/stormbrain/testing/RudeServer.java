package io.stormbrain.testing;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;

/** Listens like a brain and then misbehaves below the level of Thrift. */
public final class RudeServer implements AutoCloseable {
    /** What to do with a connection whose request has been read. */
    public interface Manner {
        void with(Socket socket) throws Exception;
    }

    private final ServerSocket server;
    private final CountDownLatch closing = new CountDownLatch(1);

    public RudeServer(Manner manner) throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        daemon(() -> {
            while (!server.isClosed()) {
                Socket socket = server.accept();
                daemon(() -> {
                    try (socket) {
                        DataInputStream in = new DataInputStream(socket.getInputStream());
                        in.readNBytes(in.readInt());
                        manner.with(socket);
                    }
                });
            }
        });
    }

    /** Reads the request and never answers. */
    public static RudeServer hanging() throws IOException {
        RudeServer[] self = new RudeServer[1];
        CountDownLatch ready = new CountDownLatch(1);
        self[0] = new RudeServer(socket -> {
            ready.await();
            self[0].closing.await();
        });
        ready.countDown();
        return self[0];
    }

    private interface Job {
        void run() throws Exception;
    }

    private static void daemon(Job job) {
        Thread thread = new Thread(() -> {
            try {
                job.run();
            } catch (Exception e) {
                // the other side is gone or the server closed: what a rude server expects
            }
        }, "rude-server");
        thread.setDaemon(true);
        thread.start();
    }

    public String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        closing.countDown();
        server.close();
    }
}
