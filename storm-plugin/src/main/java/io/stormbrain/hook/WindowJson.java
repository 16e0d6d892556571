package io.stormbrain.hook;

import io.stormbrain.common.Json;
import io.stormbrain.thrift.EdgeCount;
import io.stormbrain.thrift.NodeLoad;
import io.stormbrain.thrift.TaskLoad;
import java.time.Duration;

/** The lines of the metric log, as docs/metric-log.md has them. */
final class WindowJson {
    private final WorkerIdentity worker;
    private final ProcessHandle process = ProcessHandle.current();
    /** What the worker had burnt when it last wrote, or null where that is not to be known. */
    private Duration burnt = process.info().totalCpuDuration().orElse(null);

    WindowJson(WorkerIdentity worker) {
        this.worker = worker;
    }

    /** The window's lines; the last one is of kind {@code window}. */
    String lines(Window window, NodeLoad node, long droppedReports, long droppedLines) {
        StringBuilder out = new StringBuilder(256 * (window.edges().size() + window.tasks().size() + 2));
        for (EdgeCount edge : window.edges()) {
            begin(out, "edge", window);
            integer(out, "source", edge.getSource_task());
            integer(out, "target", edge.getTarget_task());
            integer(out, "tuples", edge.getTuples());
            integer(out, "bytes", edge.getBytes());
            if (edge.isSystem()) {
                out.append(",\"system\":true");
            }
            end(out);
        }
        for (Window.Task task : window.tasks()) {
            task(out, window, task);
        }
        if (node != null) {
            node(out, window, node);
        }
        begin(out, "window", window);
        text(out, "host", worker.host());
        integer(out, "port", worker.port());
        integer(out, "edges", window.edges().size());
        integer(out, "tasks", window.tasks().size());
        integer(out, "dropped_reports", droppedReports);
        integer(out, "dropped_lines", droppedLines);
        Runtime jvm = Runtime.getRuntime();
        real(out, "heap_mb", (jvm.totalMemory() - jvm.freeMemory()) / 1048576.0);
        processCpu(out);
        end(out);
        return out.toString();
    }

    /** The worker's process since its last window, multilang subprocesses not included. */
    private void processCpu(StringBuilder out) {
        Duration now = process.info().totalCpuDuration().orElse(null);
        if (now != null && burnt != null && now.compareTo(burnt) >= 0) {
            real(out, "process_cpu_ms", now.minus(burnt).toMillis());
        }
        burnt = now;
    }

    private void task(StringBuilder out, Window window, Window.Task task) {
        TaskLoad load = task.load();
        begin(out, "task", window);
        integer(out, "task", load.getTask());
        text(out, "component", load.getComponent());
        text(out, "executor", task.executor());
        real(out, "cpu_ms", load.getCpu_ms());
        if (load.isSetShell_cpu_ms()) {
            real(out, "shell_cpu_ms", load.getShell_cpu_ms());
        }
        integer(out, "executed", load.getExecuted());
        integer(out, "emitted", load.getEmitted());
        integer(out, "acked", load.getAcked());
        integer(out, "failed", load.getFailed());
        if (load.isSetExecute_latency_ms()) {
            real(out, "execute_ms", load.getExecute_latency_ms());
        }
        if (load.isSetProcess_latency_ms()) {
            real(out, "process_ms", load.getProcess_latency_ms());
        }
        if (load.isSetComplete_latency_ms()) {
            real(out, "complete_ms", load.getComplete_latency_ms());
        }
        if (load.isSetQueue_percent()) {
            real(out, "queue_percent", load.getQueue_percent());
            integer(out, "queue_overflow", load.getQueue_overflow());
        }
        end(out);
    }

    private void node(StringBuilder out, Window window, NodeLoad node) {
        begin(out, "node", window);
        integer(out, "cores", node.getCores());
        real(out, "mhz", node.getMhz());
        real(out, "cpu_percent", node.getCpu_percent());
        real(out, "memory_mb", node.getMemory_mb());
        real(out, "memory_used_mb", node.getMemory_used_mb());
        integer(out, "rx_bytes", node.getRx_bytes());
        integer(out, "tx_bytes", node.getTx_bytes());
        if (node.isSetMachine()) {
            text(out, "machine", node.getMachine());
        }
        end(out);
    }

    private void begin(StringBuilder out, String kind, Window window) {
        out.append("{\"v\":1,\"kind\":\"").append(kind).append('"');
        text(out, "topology", worker.topologyId());
        text(out, "node", worker.node());
        text(out, "worker", worker.worker());
        integer(out, "seq", window.sequence());
        integer(out, "start", window.startMs());
        integer(out, "end", window.endMs());
    }

    private static void end(StringBuilder out) {
        out.append("}\n");
    }

    private static void text(StringBuilder out, String name, String value) {
        out.append(",\"").append(name).append("\":");
        Json.string(out, value);
    }

    private static void integer(StringBuilder out, String name, long value) {
        out.append(",\"").append(name).append("\":").append(value);
    }

    /** To a thousandth: more digits would say nothing and cost space. */
    private static void real(StringBuilder out, String name, double value) {
        out.append(",\"").append(name).append("\":");
        Json.number(out, Math.rint(value * 1000) / 1000);
    }
}
