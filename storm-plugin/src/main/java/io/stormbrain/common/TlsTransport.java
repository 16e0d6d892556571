package io.stormbrain.common;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.transport.TIOStreamTransport;
import org.apache.thrift.transport.TTransportException;

/** A TLS connection under the same timeouts as a plain one, the handshake included. */
final class TlsTransport extends TIOStreamTransport {
    private final BrainAddress address;
    private final TlsFiles files;
    private final int connectTimeoutMs;
    private final int readTimeoutMs;
    /** The bare socket: closing it ends whatever hangs on it, where closing the TLS one may wait to say goodbye. */
    private final Socket bare = new Socket();

    TlsTransport(TConfiguration bounds, BrainAddress address, TlsFiles files, int connectTimeoutMs, int readTimeoutMs)
            throws TTransportException {
        super(bounds);
        this.address = address;
        this.files = files;
        this.connectTimeoutMs = connectTimeoutMs;
        this.readTimeoutMs = readTimeoutMs;
    }

    @Override
    public void open() throws TTransportException {
        try {
            bare.setTcpNoDelay(true);
            bare.setSoTimeout(readTimeoutMs);
            bare.connect(new InetSocketAddress(address.host(), address.port()), connectTimeoutMs);
            SSLSocket socket = (SSLSocket) files.context().getSocketFactory()
                    .createSocket(bare, address.host(), address.port(), true);
            if (files.verifyHost()) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                socket.setSSLParameters(parameters);
            }
            socket.startHandshake();
            inputStream_ = new BufferedInputStream(socket.getInputStream());
            outputStream_ = new BufferedOutputStream(socket.getOutputStream());
        } catch (SSLException e) {
            close();
            throw new TTransportException(TTransportException.NOT_OPEN,
                    "TLS with " + address + " failed (compare brain.scheduler.tls.* on both sides): " + e.getMessage());
        } catch (IOException | RuntimeException e) {
            close();
            throw new TTransportException(TTransportException.NOT_OPEN, e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    @Override
    public void close() {
        try {
            bare.close();
        } catch (IOException e) {
            // gone already
        }
        inputStream_ = null;
        outputStream_ = null;
    }
}
