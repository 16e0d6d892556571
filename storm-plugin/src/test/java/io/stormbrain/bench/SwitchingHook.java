package io.stormbrain.bench;

import io.stormbrain.hook.TrafficHook;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.task.TopologyContext;

/**
 * Installs the TrafficHook in a way that it can be taken out and put back while the topology runs: the list of hooks that
 * Storm looks at for every tuple is exchanged for one with the hook or an empty one. So "on" and "off" are compared within
 * one worker, compiled once, minutes apart from no other run. {@link SwitchClock} does the switching.
 */
public final class SwitchingHook extends BaseTaskHook {
    private TrafficHook hook;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        try {
            hook = new TrafficHook();
            hook.prepare(conf, context);
            Field hooks = TopologyContext.class.getDeclaredField("hooks");
            hooks.setAccessible(true);
            List<ITaskHook> with = context.getHooks(); // the hook has put its own list there
            with.add(hook);
            hooks.set(context, new ArrayList<>()); // Storm adds this very object to it, and nobody asks it again
            SwitchClock.of(conf).add(context, new Switch(context, hooks, with));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Storm keeps its hooks elsewhere", e);
        }
    }

    /** One task's list of hooks. */
    record Switch(TopologyContext context, Field field, List<ITaskHook> with) {
        void turn(boolean on) throws IllegalAccessException {
            field.set(context, on ? with : new ArrayList<>());
        }
    }
}
