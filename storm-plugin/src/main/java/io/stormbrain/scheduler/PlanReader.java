package io.stormbrain.scheduler;

import io.stormbrain.common.LeaderNode;
import io.stormbrain.common.ZooKeeperAway;
import io.stormbrain.common.ZooKeeperLink;
import io.stormbrain.thrift.PlanManifest;
import java.io.ByteArrayOutputStream;
import java.util.Locale;
import java.util.regex.Pattern;

/** Reads plans from ZooKeeper: {@code <root>/plans/<topology-id>}, large ones in chunks. */
final class PlanReader {
    private static final int MAX_CHUNKS = 4096;
    /** The digest becomes part of a path, so it must be nothing but a digest. */
    private static final Pattern DIGEST = Pattern.compile("[0-9a-fA-F]{64}");

    private final ZooKeeperLink zookeeper;
    private final String root;

    PlanReader(ZooKeeperLink zookeeper, String root) {
        this.zookeeper = zookeeper;
        this.root = root;
    }

    /** The plan in the store, or null where there is none. */
    StoredPlan read(String topologyId, Deadline deadline)
            throws ZooKeeperAway, PlanCodec.Unreadable, InterruptedException {
        byte[] znode = zookeeper.read(path("plans/" + topologyId), deadline.remainingMs());
        if (znode == null) {
            return null;
        }
        PlanCodec.Content content = PlanCodec.decode(znode);
        StoredPlan stored = content.plan() != null ? content.plan() : assemble(content.manifest(), deadline);
        if (!topologyId.equals(stored.plan().getTopology_id())) {
            throw new PlanCodec.Unreadable("the znode holds a plan for " + stored.plan().getTopology_id());
        }
        return stored;
    }

    private StoredPlan assemble(PlanManifest manifest, Deadline deadline)
            throws ZooKeeperAway, PlanCodec.Unreadable, InterruptedException {
        if (manifest.getChunks() < 1 || manifest.getChunks() > MAX_CHUNKS
                || manifest.getSize() < 1 || manifest.getSize() > PlanCodec.MAX_PLAN_BYTES
                || !DIGEST.matcher(manifest.getDigest()).matches()) {
            throw new PlanCodec.Unreadable("the manifest is impossible: " + manifest.getChunks() + " chunks, "
                    + manifest.getSize() + " bytes, digest " + manifest.getDigest());
        }
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        for (int chunk = 0; chunk < manifest.getChunks(); chunk++) {
            String name = String.format(Locale.ROOT, "%04d", chunk);
            byte[] bytes = zookeeper.read(path("chunks/" + manifest.getDigest() + "/" + name), deadline.remainingMs());
            if (bytes == null) {
                throw new PlanCodec.Unreadable("chunk " + name + " of " + manifest.getChunks() + " is absent");
            }
            if (packed.size() + (long) bytes.length > manifest.getSize()) {
                throw new PlanCodec.Unreadable("the chunks hold more than the " + manifest.getSize()
                        + " bytes of the manifest");
            }
            packed.writeBytes(bytes);
        }
        if (packed.size() != manifest.getSize()) {
            throw new PlanCodec.Unreadable("the chunks hold " + packed.size() + " bytes, the manifest says "
                    + manifest.getSize());
        }
        StoredPlan stored = PlanCodec.fromChunks(packed.toByteArray());
        if (!stored.digest().equalsIgnoreCase(manifest.getDigest())) {
            throw new PlanCodec.Unreadable("the chunks hold another plan than the manifest names");
        }
        return stored;
    }

    private String path(String below) {
        return LeaderNode.child(root, below);
    }
}
