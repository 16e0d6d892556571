package io.stormbrain.hook;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * CPU of the subprocesses of multilang tasks. Looks for them anew with every window, so that one that was restarted is
 * found again. Belongs to one thread.
 */
final class ShellCpu {
    private static final Logger LOG = LoggerFactory.getLogger(ShellCpu.class);

    /** What the subprocess of a task used in this window. */
    record Use(long pid, double millis) {
    }

    private final Map<Long, Double> totalBefore = new HashMap<>();
    private final Map<Integer, Use> uses = new HashMap<>();

    void beginWindow(Collection<TaskCounters> tasks) {
        uses.clear();
        List<TaskCounters> shells = tasks.stream().filter(TaskCounters::isShell).toList();
        if (shells.isEmpty()) {
            return;
        }
        try {
            measure(shells, ProcessTable.now());
        } catch (RuntimeException e) {
            LOG.debug("subprocesses could not be measured", e);
        }
    }

    /** Null for a task without a subprocess. */
    Use use(int task) {
        return uses.get(task);
    }

    private void measure(List<TaskCounters> shells, ProcessTable table) {
        Map<Long, Double> totalNow = new HashMap<>();
        Map<ShellCommand, List<TaskCounters>> untold = new HashMap<>();
        for (TaskCounters task : shells) {
            Long pid = task.shellPid();
            if (pid != null) {
                uses.put(task.task, new Use(pid, delta(table, pid, totalNow)));
            } else if (task.shellCommand != null) {
                untold.computeIfAbsent(task.shellCommand, k -> new ArrayList<>()).add(task);
            }
        }
        untold.forEach((command, tasks) -> share(command, tasks, table, totalNow));
        totalBefore.keySet().retainAll(totalNow.keySet());
        totalBefore.putAll(totalNow);
    }

    /** The processes of one command that were not told cannot be told apart, so their tasks share the sum evenly. */
    private void share(ShellCommand command, List<TaskCounters> tasks, ProcessTable table, Map<Long, Double> totalNow) {
        TreeMap<Long, Double> used = new TreeMap<>();
        for (ProcessHandle process : table.direct()) {
            if (!totalNow.containsKey(process.pid()) && command.started(process)) {
                used.put(process.pid(), delta(table, process.pid(), totalNow));
            }
        }
        if (used.isEmpty()) {
            return;
        }
        double each = used.values().stream().mapToDouble(Double::doubleValue).sum() / tasks.size();
        List<Long> pids = List.copyOf(used.keySet());
        for (int i = 0; i < tasks.size(); i++) {
            uses.put(tasks.get(i).task, new Use(pids.get(i % pids.size()), each));
        }
    }

    private double delta(ProcessTable table, long pid, Map<Long, Double> totalNow) {
        double total = table.cpuMillis(pid);
        if (Double.isNaN(total)) {
            return 0;
        }
        totalNow.put(pid, total);
        return Math.max(0, total - totalBefore.getOrDefault(pid, 0.0));
    }
}
