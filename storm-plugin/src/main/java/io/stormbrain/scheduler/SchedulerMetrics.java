package io.stormbrain.scheduler;

import com.codahale.metrics.Meter;
import com.codahale.metrics.Timer;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.StormMetricsRegistry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counters and timers in Storm's registry, and a line in nimbus.log about each minute. */
final class SchedulerMetrics {
    private static final Logger LOG = LoggerFactory.getLogger(SchedulerMetrics.class);
    private static final long LINE_EVERY_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int MOST_ROUNDS = 4096;

    private final Timer scheduleTime;
    private final Timer askTime;
    private final Meter plansApplied;
    private final Meter plansRejected;
    private final Meter fallbacks;
    private final Meter askFailures;
    private final long[] rounds = new long[MOST_ROUNDS];
    private int count;
    private long lineAt;

    SchedulerMetrics(StormMetricsRegistry registry) {
        scheduleTime = registry.registerTimer("nimbus:brain-schedule-time");
        askTime = registry.registerTimer("nimbus:brain-ask-time");
        plansApplied = registry.registerMeter("nimbus:num-brain-plans-applied");
        plansRejected = registry.registerMeter("nimbus:num-brain-plans-rejected");
        fallbacks = registry.registerMeter("nimbus:num-brain-fallbacks");
        askFailures = registry.registerMeter("nimbus:num-brain-ask-failures");
        lineAt = System.nanoTime() + LINE_EVERY_NANOS;
    }

    void planApplied() {
        plansApplied.mark();
    }

    void planRejected() {
        plansRejected.mark();
    }

    void fallbackUsed() {
        fallbacks.mark();
    }

    void asked(long nanos, boolean answered) {
        askTime.update(nanos, TimeUnit.NANOSECONDS);
        if (!answered) {
            askFailures.mark();
        }
    }

    /** Notes one whole round, and now and then writes how long they take. */
    void scheduled(long nanos) {
        scheduleTime.update(nanos, TimeUnit.NANOSECONDS);
        LOG.debug("schedule() took {} ms", nanos / 1_000_000.0);
        if (count < MOST_ROUNDS) {
            rounds[count++] = nanos;
        }
        if (System.nanoTime() - lineAt >= 0) {
            LOG.info("{}", statsLine());
            count = 0;
            lineAt = System.nanoTime() + LINE_EVERY_NANOS;
        }
    }

    /** {@code brain.schedule.stats count=… median_ms=… max_ms=…} over the rounds since the last line. */
    String statsLine() {
        long[] sorted = Arrays.copyOf(rounds, count);
        Arrays.sort(sorted);
        double median = count == 0 ? 0 : (sorted[(count - 1) / 2] + sorted[count / 2]) / 2e6;
        double max = count == 0 ? 0 : sorted[count - 1] / 1e6;
        return String.format(Locale.ROOT, "brain.schedule.stats count=%d median_ms=%.2f max_ms=%.2f",
                count, median, max);
    }
}
