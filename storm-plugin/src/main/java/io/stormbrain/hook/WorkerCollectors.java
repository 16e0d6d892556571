package io.stormbrain.hook;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.storm.task.TopologyContext;

/**
 * The one place with static state: Storm makes a hook per task and offers them nothing in common, but they must share
 * one collector per worker. A JVM is one worker, except in Storm's local mode: hence the key.
 */
final class WorkerCollectors {
    private static final Map<String, WorkerCollector> BY_WORKER = new ConcurrentHashMap<>();

    private WorkerCollectors() {
    }

    static WorkerCollector of(Map<String, Object> conf, TopologyContext context) {
        return BY_WORKER.computeIfAbsent(context.getStormId() + ":" + context.getThisWorkerPort(), key ->
                WorkerCollector.start(
                        WorkerIdentity.of(context, System.currentTimeMillis()), conf, () -> BY_WORKER.remove(key)));
    }
}
