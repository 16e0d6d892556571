package io.stormbrain.hook;

import java.lang.reflect.Field;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether Storm calls the hooks of one task. With a hook, Storm makes an object and a call for every tuple that is
 * executed, emitted or acked: on a task at full speed that alone costs a tenth of its throughput, however little the hook
 * does. Storm asks first whether there are hooks at all, so a list that says "none" for most of the time saves it.
 *
 * <p>Open and shut by one thread; the executor's thread only looks.
 */
final class Gate {
    private static final Logger LOG = LoggerFactory.getLogger(Gate.class);

    /** Storm's list of a task's hooks. It looks empty while the gate is shut; who walks it still finds everybody. */
    @SuppressWarnings("serial")
    static final class Hooks extends CopyOnWriteArrayList<ITaskHook> {
        private volatile boolean shut;

        Hooks(List<ITaskHook> known) {
            super(known);
        }

        /** Only where the one hook is ours: the hooks of others get every call. */
        @Override
        public boolean isEmpty() {
            return shut ? size() <= 1 : super.isEmpty();
        }
    }

    private final Hooks hooks;
    private volatile boolean open = true;
    private long openedNs;
    private long openNs;
    private long scaledFromNs;
    private long openWhenScaledNs;

    private Gate(Hooks hooks, long nowNs) {
        this.hooks = hooks;
        this.openedNs = nowNs;
        this.scaledFromNs = nowNs;
    }

    /** Called while Storm adds the hook to the context. A Storm that keeps its hooks elsewhere gets a gate that stays open. */
    static Gate of(TopologyContext context) {
        Hooks hooks = null;
        try {
            for (Field field : TopologyContext.class.getDeclaredFields()) {
                if (field.getType() == List.class) {
                    field.setAccessible(true);
                    if (field.get(context) == context.getHooks()) {
                        Hooks replaced = new Hooks(context.getHooks());
                        field.set(context, replaced);
                        hooks = context.getHooks() == replaced ? replaced : null;
                        break;
                    }
                }
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.info("task {}: every tuple is counted, because this Storm's list of hooks cannot be replaced: {}",
                    context.getThisTaskId(), e.toString());
        }
        return new Gate(hooks, System.nanoTime());
    }

    /** For callbacks: where others' hooks keep Storm calling, a shut gate does not count. */
    boolean isOpen() {
        return open;
    }

    boolean canShut() {
        return hooks != null;
    }

    void open(long nowNs) {
        if (!open) {
            openedNs = nowNs;
            open = true;
            hooks.shut = false;
        }
    }

    void shut(long nowNs) {
        if (open && canShut()) {
            hooks.shut = true;
            open = false;
            openNs += nowNs - openedNs;
        }
    }

    /** How long it has been open, all in all. */
    long openNanos(long nowNs) {
        return open ? openNs + (nowNs - openedNs) : openNs;
    }

    /**
     * By how much counts since the last scaling are to be multiplied: 1 if it was open all the time; 0 if it was never
     * open, and then the scaling is still to come.
     */
    double scale(long nowNs) {
        long opened = openNanos(nowNs) - openWhenScaledNs;
        long all = nowNs - scaledFromNs;
        if (opened <= 0) {
            return all <= 0 ? 1.0 : 0.0;
        }
        scaledFromNs = nowNs;
        openWhenScaledNs += opened;
        return opened == all ? 1.0 : all / (double) opened;
    }
}
