package io.stormbrain.testing;

import io.stormbrain.thrift.ExecutorRange;
import io.stormbrain.thrift.PlacedExecutor;
import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanCost;
import io.stormbrain.thrift.PlanManifest;
import io.stormbrain.thrift.PlanRef;
import io.stormbrain.thrift.Slot;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.DeflaterOutputStream;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.thrift.TBase;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;

/** Writes plans as the brain does, independently of the code under test. */
public final class Plans {
    private Plans() {
    }

    public static Plan plan(TopologyDetails topology, long epoch, Map<ExecutorDetails, WorkerSlot> placement) {
        List<PlacedExecutor> placed = new ArrayList<>();
        placement.forEach((executor, slot) -> placed.add(new PlacedExecutor(
                new ExecutorRange(executor.getStartTask(), executor.getEndTask()),
                new Slot(slot.getNodeId(), slot.getPort()))));
        return new Plan(1, topology.getId(), epoch, executorHash(topology), "metis",
                new PlanCost(12, 20), new PlanCost(3, 8.5), "a test wants it", placed, 1L, 1L);
    }

    public static String executorHash(TopologyDetails topology) {
        Map<Integer, String> lines = new TreeMap<>();
        topology.getExecutorToComponent().forEach((executor, component) -> lines.put(executor.getStartTask(),
                executor.getStartTask() + "-" + executor.getEndTask() + " " + component + "\n"));
        return sha256(String.join("", lines.values()).getBytes(StandardCharsets.UTF_8));
    }

    public static PlanRef ref(Plan plan) throws Exception {
        return new PlanRef(plan.getTopology_id(), plan.getEpoch(), sha256(bytes(plan)));
    }

    public static byte[] bytes(TBase<?, ?> struct) throws Exception {
        return new TSerializer(new TBinaryProtocol.Factory()).serialize(struct);
    }

    public static byte[] plain(Plan plan) throws Exception {
        return znode(0, bytes(plan));
    }

    public static byte[] deflated(Plan plan) throws Exception {
        return znode(1, deflate(bytes(plan)));
    }

    public static byte[] znode(int encoding, byte[] body) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(new byte[] {'S', 'B', 'P', 'L', 1, (byte) encoding});
        out.write(body);
        return out.toByteArray();
    }

    public static byte[] deflate(byte[] bytes) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (DeflaterOutputStream deflater = new DeflaterOutputStream(out)) {
            deflater.write(bytes);
        }
        return out.toByteArray();
    }

    /** Stores a plan in chunks of the given size and its manifest in the plan's znode. */
    public static void chunked(TestZooKeeper zookeeper, Plan plan, int chunkBytes) throws Exception {
        byte[] packed = deflate(bytes(plan));
        String digest = sha256(bytes(plan));
        int chunks = 0;
        for (int from = 0; from < packed.length; from += chunkBytes, chunks++) {
            byte[] chunk = Arrays.copyOfRange(packed, from, Math.min(packed.length, from + chunkBytes));
            zookeeper.write(String.format("/stormbrain/chunks/%s/%04d", digest, chunks), chunk);
        }
        PlanManifest manifest =
                new PlanManifest(plan.getTopology_id(), plan.getEpoch(), digest, chunks, packed.length);
        zookeeper.write("/stormbrain/plans/" + plan.getTopology_id(), znode(2, bytes(manifest)));
    }

    public static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
