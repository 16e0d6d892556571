package io.stormbrain.hook;

import io.stormbrain.thrift.NodeLoad;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The machine as a whole, from /proc. One worker per node measures it: the one that holds a lock file beside the metric
 * logs; when that worker ends, the lock falls to another. Belongs to one thread.
 */
final class NodeGauge implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeGauge.class);
    private static final double USER_HZ = 100;

    private final Path lockDir;
    private final String name;
    private final Path proc;
    private FileChannel channel;
    private FileLock lock;
    private double busyTicks = -1;
    private long nanos;
    private long rx;
    private long tx;

    NodeGauge(Path lockDir, String name, Path proc) {
        this.lockDir = lockDir;
        this.name = name;
        this.proc = proc;
    }

    /**
     * The load since the last call; null from a worker that is not the one, from the first call, or where there is no
     * /proc. Cores are those that this process may use: in a container, its own.
     */
    NodeLoad read() {
        try {
            return holdsLock() ? measure() : null;
        } catch (IOException | RuntimeException e) {
            return null;
        }
    }

    private boolean holdsLock() throws IOException {
        if (lock != null) {
            return true;
        }
        if (channel == null) {
            channel = FileChannel.open(lockFile(), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        }
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException e) {
            // another worker of this very JVM: only in Storm's local mode
        }
        return lock != null;
    }

    /** Beside the metric logs; where there are none, among the temporary files. */
    private Path lockFile() {
        return lockDir != null && Files.isDirectory(lockDir)
                ? lockDir.resolve("." + name + ".lock")
                : Path.of(System.getProperty("java.io.tmpdir"), "stormbrain-" + name + ".lock");
    }

    private NodeLoad measure() throws IOException {
        double busyBefore = busyTicks;
        long nanosBefore = nanos;
        long rxBefore = rx;
        long txBefore = tx;
        busyTicks = busy(lines("stat").get(0));
        nanos = System.nanoTime();
        long[] net = network(lines("net/dev"));
        rx = net[0];
        tx = net[1];
        if (busyBefore < 0) {
            return null; // a use needs two readings
        }
        double percent = 100 * (busyTicks - busyBefore) / USER_HZ / ((nanos - nanosBefore) / 1e9);
        List<String> memory = lines("meminfo");
        double total = memory(memory, "MemTotal:");
        NodeLoad load = new NodeLoad(Runtime.getRuntime().availableProcessors(), mhz(lines("cpuinfo")),
                Math.max(0, percent), total, total - memory(memory, "MemAvailable:"),
                Math.max(0, rx - rxBefore), Math.max(0, tx - txBefore));
        load.setMachine(machine());
        return load;
    }

    /** Containers and namespaces on one machine show the same. */
    private String machine() {
        try {
            return lines("sys/kernel/random/boot_id").get(0).trim();
        } catch (IOException | RuntimeException e) {
            return null;
        }
    }

    private List<String> lines(String file) throws IOException {
        return Files.readAllLines(proc.resolve(file), StandardCharsets.ISO_8859_1);
    }

    /** Everything but idle and iowait; guest time is within user time already. */
    private static double busy(String cpuLine) {
        String[] f = cpuLine.trim().split("\\s+");
        double busy = 0;
        for (int i = 1; i < Math.min(f.length, 9); i++) {
            busy += i == 4 || i == 5 ? 0 : Double.parseDouble(f[i]);
        }
        return busy;
    }

    /** Received and sent through all interfaces but loopback. */
    private static long[] network(List<String> lines) {
        long[] sums = new long[2];
        for (String line : lines.subList(2, lines.size())) {
            int colon = line.indexOf(':');
            if (colon > 0 && !line.substring(0, colon).trim().equals("lo")) {
                String[] f = line.substring(colon + 1).trim().split("\\s+");
                sums[0] += Long.parseLong(f[0]);
                sums[1] += Long.parseLong(f[8]);
            }
        }
        return sums;
    }

    private static double mhz(List<String> cpuinfo) {
        return cpuinfo.stream().filter(line -> line.startsWith("cpu MHz"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(':') + 1).trim()))
                .average().orElse(0);
    }

    private static double memory(List<String> meminfo, String name) {
        return meminfo.stream().filter(line -> line.startsWith(name)).findFirst()
                .map(line -> Double.parseDouble(line.substring(name.length()).replace("kB", "").trim()) / 1024)
                .orElse(0.0);
    }

    @Override
    public void close() {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            LOG.debug("releasing the lock of {} failed", name, e);
        }
    }
}
