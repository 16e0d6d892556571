package io.stormbrain.hook;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.storm.task.TopologyContext;

/** The tasks that share one executor, and so one thread. Storm gives them one map in common: there it lies. */
final class ExecutorGroup {
    private static final String KEY = "io.stormbrain.executor-group";
    private static final String MARK = "-executor[";

    private final String component;
    private final ConcurrentSkipListSet<Integer> tasks = new ConcurrentSkipListSet<>();

    private ExecutorGroup(String component) {
        this.component = component;
    }

    static ExecutorGroup join(TopologyContext context) {
        ExecutorGroup group = (ExecutorGroup) context.getExecutorData(KEY);
        if (group == null) {
            group = new ExecutorGroup(context.getThisComponentId());
            context.setExecutorData(KEY, group);
        }
        group.tasks.add(context.getThisTaskId());
        return group;
    }

    int size() {
        return tasks.size();
    }

    /** {@code start-end}, as in the metric log. */
    String range() {
        return tasks.first() + "-" + tasks.last();
    }

    /** What the name of the executor's thread ends with: Storm calls it {@code Thread-7-count-executor[3, 4]}. */
    String threadName() {
        return "-" + component + MARK + tasks.first() + ", " + tasks.last() + "]";
    }

    static boolean isExecutorThread(String threadName) {
        return threadName.contains(MARK);
    }

    /** The thread's id by its name, or null while it has not started. */
    Long threadId(Map<String, Long> executorThreads) {
        String wanted = threadName();
        for (Map.Entry<String, Long> thread : executorThreads.entrySet()) {
            if (thread.getKey().endsWith(wanted)) {
                return thread.getValue();
            }
        }
        return null;
    }
}
