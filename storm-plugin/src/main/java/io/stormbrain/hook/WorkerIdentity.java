package io.stormbrain.hook;

import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.utils.Utils;

/**
 * Who this worker is.
 *
 * <p>A task's context knows the port, but not the supervisor's id. The supervisor starts
 * {@code Worker <topology id> <supervisor id> <supervisor port> <port> <worker id>}, and the JVM keeps that command line
 * in {@code sun.java.command}: the id is taken from there. Where that does not fit (a local cluster inside one JVM, another
 * launcher) the host name stands in for it.
 *
 * @param node    supervisor id
 * @param worker  {@code <port>-<start in ms, base 36>}: unique per worker process on its node
 * @param startMs when this worker's counting began
 */
record WorkerIdentity(String topologyId, String node, String host, int port, String worker, long startMs) {
    private static final String WORKER_CLASS = "org.apache.storm.daemon.worker.Worker";
    private static final int ARGUMENTS = 5;

    static WorkerIdentity of(WorkerTopologyContext context, long startMs) {
        int port = context.getThisWorkerPort() == null ? 0 : context.getThisWorkerPort();
        String host = localHost();
        String node = context.getAssignmentId();
        if (node == null) {
            node = nodeFromCommand(System.getProperty("sun.java.command", ""), context.getStormId(), port);
        }
        return new WorkerIdentity(context.getStormId(), node == null ? host : node, host, port,
                port + "-" + Long.toString(startMs, 36), startMs);
    }

    /** The supervisor id from a worker's command line, or null if that is not this worker's. */
    static String nodeFromCommand(String command, String topologyId, int port) {
        String[] words = command.trim().split("\\s+");
        if (words.length == ARGUMENTS + 1 && words[0].equals(WORKER_CLASS)
                && words[1].equals(topologyId) && words[4].equals(Integer.toString(port))) {
            return words[2];
        }
        return null;
    }

    /** Unique in the whole cluster, as WindowReport wants it. */
    String reportId() {
        return node + "-" + worker;
    }

    private static String localHost() {
        try {
            return Utils.hostname();
        } catch (Exception e) {
            return "unknown-host";
        }
    }
}
