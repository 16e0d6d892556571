package io.stormbrain.hook;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker's files of the metric log: appended to by whole windows, rolled, the oldest removed. What cannot be written is
 * counted and given up; after an error the next file begins, because the old one may end in half a line. Belongs to one
 * thread.
 */
final class MetricLog implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricLog.class);

    private final Path dir;
    private final String prefix;
    private final long rollBytes;
    private final int keepFiles;
    private FileChannel file;
    private long size;
    private int number;
    private long droppedLines;
    private boolean failing;

    /** A log in {@code <settings.dir>/<topology id>/}; without a directory everything is dropped. */
    MetricLog(HookSettings settings, WorkerIdentity worker) {
        this.dir = settings.dir() == null ? null : settings.dir().resolve(safe(worker.topologyId()));
        this.prefix = safe(worker.node()) + "-" + worker.worker() + "-";
        this.rollBytes = settings.rollBytes();
        this.keepFiles = settings.keepFiles();
    }

    /** Appends lines that end in a newline; never throws. */
    void append(String lines) {
        byte[] bytes = lines.getBytes(StandardCharsets.UTF_8);
        try {
            if (dir == null) {
                throw new IOException("no directory is known: set " + HookSettings.DIR);
            }
            open();
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            while (buffer.hasRemaining()) {
                file.write(buffer);
            }
            size += bytes.length;
            failing = false;
            if (size > rollBytes) {
                nextFile();
            }
        } catch (IOException | RuntimeException e) {
            droppedLines += lines.chars().filter(c -> c == '\n').count();
            if (!failing) {
                LOG.warn("the metric log in {} cannot be written, lines are lost: {}", dir, e.toString());
            }
            failing = true;
            if (file != null) {
                nextFile();
            }
        }
    }

    /** Lines lost since the worker's start. */
    long droppedLines() {
        return droppedLines;
    }

    private void open() throws IOException {
        if (file == null) {
            Files.createDirectories(dir);
            file = FileChannel.open(path(number), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            size = 0;
            if (number >= keepFiles) {
                Files.deleteIfExists(path(number - keepFiles));
            }
        }
    }

    private void nextFile() {
        close();
        number++;
    }

    private Path path(int fileNumber) {
        return dir.resolve(prefix + String.format(Locale.ROOT, "%04d", fileNumber) + ".jsonl");
    }

    /** Ids become file names, so they may hold nothing that means something in a path. */
    static String safe(String id) {
        String name = id.replaceAll("[^A-Za-z0-9._-]", "_");
        return name.startsWith(".") ? "_" + name.substring(1) : name;
    }

    @Override
    public void close() {
        try {
            if (file != null) {
                file.close();
            }
        } catch (IOException e) {
            LOG.debug("closing the metric log failed", e);
        }
        file = null;
    }
}
