package io.stormbrain.scheduler;

import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanManifest;
import java.io.ByteArrayOutputStream;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.apache.thrift.TBase;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TMemoryInputTransport;

/** The bytes of a plan znode: 'S' 'B' 'P' 'L', format, encoding, then a Thrift struct. Sizes are bounded. */
final class PlanCodec {
    /** A plan for a million executors is about this large; whatever is larger is an attack or an accident. */
    static final int MAX_PLAN_BYTES = 64 * 1024 * 1024;

    private static final byte[] MAGIC = {'S', 'B', 'P', 'L'};
    private static final int HEADER = MAGIC.length + 2;
    private static final byte FORMAT = 1;
    private static final int RECURSION_LIMIT = 32;

    private PlanCodec() {
    }

    /** Bytes that are no plan; the message says what is wrong with them. */
    static final class Unreadable extends Exception {
        private static final long serialVersionUID = 1L;

        Unreadable(String message) {
            super(message);
        }
    }

    /** Either a plan or, where it lies in chunks, the manifest of these. */
    record Content(StoredPlan plan, PlanManifest manifest) {
    }

    static Content decode(byte[] znode) throws Unreadable {
        if (znode == null || znode.length < HEADER) {
            throw new Unreadable("the znode holds " + (znode == null ? 0 : znode.length) + " bytes, too few for a plan");
        }
        for (int i = 0; i < MAGIC.length; i++) {
            if (znode[i] != MAGIC[i]) {
                throw new Unreadable("the znode does not begin with SBPL");
            }
        }
        if (znode[MAGIC.length] != FORMAT) {
            throw new Unreadable("plan format " + znode[MAGIC.length] + " is unknown to this plugin: update it");
        }
        int encoding = znode[MAGIC.length + 1];
        switch (encoding) {
            case 0:
                return new Content(plan(java.util.Arrays.copyOfRange(znode, HEADER, znode.length)), null);
            case 1:
                return new Content(plan(inflate(znode, HEADER)), null);
            case 2:
                PlanManifest manifest = new PlanManifest();
                read(manifest, znode, HEADER);
                return new Content(null, manifest);
            default:
                throw new Unreadable("plan encoding " + encoding + " is unknown to this plugin: update it");
        }
    }

    /** The plan whose zlib'd bytes lay in chunks. */
    static StoredPlan fromChunks(byte[] chunks) throws Unreadable {
        return plan(inflate(chunks, 0));
    }

    private static StoredPlan plan(byte[] bytes) throws Unreadable {
        Plan plan = new Plan();
        read(plan, bytes, 0);
        return new StoredPlan(plan, ExecutorSet.sha256(bytes));
    }

    private static void read(TBase<?, ?> into, byte[] bytes, int from) throws Unreadable {
        int length = bytes.length - from;
        try {
            TConfiguration bounds = new TConfiguration(MAX_PLAN_BYTES, MAX_PLAN_BYTES, RECURSION_LIMIT);
            // containers that claim more elements than there are bytes are refused, not allocated
            into.read(new TBinaryProtocol(
                    new TMemoryInputTransport(bounds, bytes, from, length), length, length, true, true));
        } catch (TException | RuntimeException e) {
            throw new Unreadable("the plan's bytes cannot be read: " + Words.of(e));
        }
    }

    private static byte[] inflate(byte[] bytes, int from) throws Unreadable {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(bytes, from, bytes.length - from);
            ByteArrayOutputStream plain = new ByteArrayOutputStream();
            byte[] buffer = new byte[64 * 1024];
            while (!inflater.finished()) {
                int count = inflater.inflate(buffer);
                if (count == 0 && !inflater.finished()) {
                    throw new Unreadable("the compressed plan is cut short");
                }
                if (plain.size() + count > MAX_PLAN_BYTES) {
                    throw new Unreadable("the plan unpacks to more than " + MAX_PLAN_BYTES + " bytes");
                }
                plain.write(buffer, 0, count);
            }
            return plain.toByteArray();
        } catch (DataFormatException e) {
            throw new Unreadable("the compressed plan is damaged: " + Words.of(e));
        } finally {
            inflater.end();
        }
    }
}
