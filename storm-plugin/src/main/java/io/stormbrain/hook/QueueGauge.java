package io.stormbrain.hook;

import com.codahale.metrics.Gauge;
import io.stormbrain.thrift.TaskLoad;
import java.lang.reflect.Field;
import java.util.Map;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;

/**
 * How full an executor's receive queue is, and whether tuples wait beside it: the sign that Storm holds senders up. Storm
 * keeps both as gauges of the executor's tasks; its registry has no public door, so where that differs there are no
 * such signs. Read by the thread that closes windows.
 */
final class QueueGauge {
    private static final String FULL = "receive-queue-pct_full";
    private static final String OVERFLOW = "receive-queue-overflow";

    private final StormMetricRegistry registry;
    private final int task;
    private Gauge<?> full;
    private Gauge<?> overflow;

    private QueueGauge(StormMetricRegistry registry, int task) {
        this.registry = registry;
        this.task = task;
    }

    static QueueGauge of(TopologyContext context) {
        StormMetricRegistry registry = null;
        try {
            Field field = TopologyContext.class.getDeclaredField("metricRegistry");
            field.setAccessible(true);
            registry = (StormMetricRegistry) field.get(context);
        } catch (ReflectiveOperationException | RuntimeException e) {
            // another Storm: no queues then
        }
        return new QueueGauge(registry, context.getThisTaskId());
    }

    /** Adds what is known; never throws. */
    void read(TaskLoad load) {
        try {
            if (full == null && registry != null) {
                find(registry.getTaskGauges(task));
            }
            if (full != null && full.getValue() instanceof Number share) {
                load.setQueue_percent(100 * share.doubleValue());
                load.setQueue_overflow(overflow != null && overflow.getValue() instanceof Number n ? n.longValue() : 0);
            }
        } catch (RuntimeException e) {
            load.unsetQueue_percent();
            load.unsetQueue_overflow();
        }
    }

    @SuppressWarnings("rawtypes")
    private void find(Map<String, Gauge> gauges) {
        for (Map.Entry<String, Gauge> gauge : gauges.entrySet()) {
            if (gauge.getKey().endsWith(FULL)) {
                full = gauge.getValue();
            } else if (gauge.getKey().endsWith(OVERFLOW)) {
                overflow = gauge.getValue();
            }
        }
    }
}
