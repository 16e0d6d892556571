package io.stormbrain.scheduler;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.ExecutorDetails;

/** The executors of a topology in one order, and the hash over them that the brain computes too. */
final class ExecutorSet {
    private static final Comparator<ExecutorDetails> BY_TASKS =
            Comparator.comparingInt(ExecutorDetails::getStartTask).thenComparingInt(ExecutorDetails::getEndTask);

    private ExecutorSet() {
    }

    static List<ExecutorDetails> sorted(Map<ExecutorDetails, String> executorToComponent) {
        return executorToComponent.keySet().stream().sorted(BY_TASKS).toList();
    }

    /** SHA-256 (hex) over "start-end component\n" of all executors, as executor_set_hash in brain/model. */
    static String hash(Map<ExecutorDetails, String> executorToComponent) {
        StringBuilder lines = new StringBuilder();
        for (ExecutorDetails executor : sorted(executorToComponent)) {
            lines.append(executor.getStartTask()).append('-').append(executor.getEndTask())
                    .append(' ').append(executorToComponent.get(executor)).append('\n');
        }
        return sha256(lines.toString().getBytes(StandardCharsets.UTF_8));
    }

    static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
