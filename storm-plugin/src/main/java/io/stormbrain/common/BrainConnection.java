package io.stormbrain.common;

import io.stormbrain.thrift.Brain;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * One framed connection to a brain, with TLS where that is configured. A frame above the bound is refused by its header, before anything is allocated for
 * it; {@link #close()} may be called from any thread and ends a call that hangs.
 */
public final class BrainConnection implements AutoCloseable {
    private static final int RECURSION_LIMIT = 32;

    private final BrainAddress address;
    private final TTransport transport;

    private BrainConnection(BrainAddress address, TTransport transport) {
        this.address = address;
        this.transport = transport;
    }

    /** Prepares a connection; {@link #open()} makes it. */
    public static BrainConnection to(BrainAddress address, BrainConfig config, int connectTimeoutMs, int readTimeoutMs)
            throws TTransportException {
        int maxFrameBytes = config.maxFrameBytes();
        TConfiguration bounds = new TConfiguration(maxFrameBytes, maxFrameBytes, RECURSION_LIMIT);
        TTransport socket = config.tls() == null
                ? new TSocket(bounds, address.host(), address.port(), readTimeoutMs, connectTimeoutMs)
                : new TlsTransport(bounds, address, config.tls(), connectTimeoutMs, readTimeoutMs);
        return new BrainConnection(address, new TFramedTransport(socket, maxFrameBytes));
    }

    public void open() throws TTransportException {
        transport.open();
    }

    public Brain.Client client() {
        return new Brain.Client(new TBinaryProtocol(transport));
    }

    public BrainAddress address() {
        return address;
    }

    @Override
    public void close() {
        transport.close();
    }
}
