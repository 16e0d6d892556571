package io.stormbrain.hook;

import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.BoltFailInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.hooks.info.SpoutFailInfo;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures who talks to whom. Installed for every topology, Java and multilang alike, by
 * {@code topology.auto.task.hooks: ["io.stormbrain.hook.TrafficHook"]}; Storm then makes one for every task, also for
 * those of its own components.
 *
 * <p>It must never hurt the topology: it takes no lock on the tuple path, throws nothing into user code, and if it
 * cannot start it stays silent. Busy tasks are counted in slices of time (see {@link Sampling}); failed tuples always.
 * Windows are closed, logged and sent on other threads (see {@link WorkerCollector}).
 */
public final class TrafficHook extends BaseTaskHook {
    private static final Logger LOG = LoggerFactory.getLogger(TrafficHook.class);

    private WorkerCollector collector;
    private TaskCounters counters;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        try {
            // __system has a task -1 in every worker: it goes where workers go, so there is nothing to place
            if (context.getThisTaskId() >= 0) {
                collector = WorkerCollectors.of(conf, context);
                counters = collector.register(new TaskCounters(conf, context));
            }
        } catch (Throwable t) {
            counters = null;
            LOG.warn("TrafficHook does not count task {} of topology {}", context.getThisTaskId(), context.getStormId(), t);
        }
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        TaskCounters c = counters;
        if (c != null && c.gate.isOpen()) {
            try {
                c.executed(info.tuple, info.executeLatencyMs);
            } catch (Throwable t) {
                giveUp(t);
            }
        }
    }

    @Override
    public void emit(EmitInfo info) {
        TaskCounters c = counters;
        if (c != null && c.gate.isOpen()) {
            try {
                c.emitted(info.stream, info.values, info.outTasks);
            } catch (Throwable t) {
                giveUp(t);
            }
        }
    }

    @Override
    public void boltAck(BoltAckInfo info) {
        TaskCounters c = counters;
        if (c != null && c.gate.isOpen()) {
            c.boltAcked(info.processLatencyMs);
        }
    }

    @Override
    public void boltFail(BoltFailInfo info) {
        TaskCounters c = counters;
        if (c != null) {
            c.failed();
        }
    }

    @Override
    public void spoutAck(SpoutAckInfo info) {
        TaskCounters c = counters;
        if (c != null && c.gate.isOpen()) {
            c.spoutAcked(info.completeLatencyMs);
        }
    }

    @Override
    public void spoutFail(SpoutFailInfo info) {
        TaskCounters c = counters;
        if (c != null) {
            c.failed();
        }
    }

    @Override
    public void cleanup() {
        TaskCounters c = counters;
        counters = null;
        if (c != null) {
            try {
                collector.finished();
            } catch (Throwable t) {
                LOG.debug("TrafficHook could not end cleanly", t);
            }
        }
    }

    /** An error here would come back with every tuple: better no counts than a slow topology. */
    private void giveUp(Throwable t) {
        TaskCounters c = counters;
        counters = null;
        if (c != null) {
            LOG.warn("TrafficHook stops counting task {} ({})", c.task, c.component, t);
        }
    }
}
