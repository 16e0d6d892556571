package io.stormbrain.hook;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.storm.task.TopologyContext;

/** Which subprocess serves which multilang task, as told by {@link BrainShellLogHandler}. */
final class ShellProcesses {
    private static final String KEY = "io.stormbrain.shell-pids";

    private ShellProcesses() {
    }

    /** Storm's map for the tasks of one executor is where hook and log handler of a task can meet. */
    static Map<Integer, Long> of(TopologyContext context) {
        synchronized (ShellProcesses.class) {
            @SuppressWarnings("unchecked")
            Map<Integer, Long> pids = (Map<Integer, Long>) context.getExecutorData(KEY);
            if (pids == null) {
                pids = new ConcurrentHashMap<>();
                context.setExecutorData(KEY, pids);
            }
            return pids;
        }
    }
}
