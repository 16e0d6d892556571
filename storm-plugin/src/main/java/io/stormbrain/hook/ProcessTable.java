package io.stormbrain.hook;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The processes below this one, as they are now, and their CPU time. */
final class ProcessTable {
    /** Linux reports times in ticks of 1/100 s to user space, whatever the kernel's own tick is. */
    private static final double MILLIS_PER_TICK = 10;
    /** Positions after the command's name, which may hold blanks: utime, stime, cutime, cstime. */
    private static final int FIRST_TIME = 11;

    private final Path proc;
    private final Map<Long, List<ProcessHandle>> children = new HashMap<>();
    private final List<ProcessHandle> direct = new ArrayList<>();

    private ProcessTable(Path proc) {
        this.proc = proc;
    }

    /** Looks once through the machine's processes. */
    static ProcessTable now() {
        return now(Path.of("/proc"));
    }

    static ProcessTable now(Path proc) {
        ProcessTable table = new ProcessTable(proc);
        long self = ProcessHandle.current().pid();
        ProcessHandle.current().descendants().forEach(process -> process.parent().ifPresent(parent -> {
            table.children.computeIfAbsent(parent.pid(), k -> new ArrayList<>()).add(process);
            if (parent.pid() == self) {
                table.direct.add(process);
            }
        }));
        return table;
    }

    /** Processes that this one started and that live. */
    List<ProcessHandle> direct() {
        return direct;
    }

    /** CPU of a process with all below it, and of those that it has waited for; NaN if it is gone. */
    double cpuMillis(long pid) {
        double own = ownMillis(pid);
        if (Double.isNaN(own)) {
            return own;
        }
        for (ProcessHandle child : children.getOrDefault(pid, List.of())) {
            double below = cpuMillis(child.pid());
            own += Double.isNaN(below) ? 0 : below;
        }
        return own;
    }

    private double ownMillis(long pid) {
        Path stat = proc.resolve(Long.toString(pid)).resolve("stat");
        try {
            return parseStat(Files.readString(stat, StandardCharsets.ISO_8859_1));
        } catch (IOException | RuntimeException e) {
            // no /proc on this system, or the process is gone
            return ProcessHandle.of(pid).flatMap(process -> process.info().totalCpuDuration())
                    .map(duration -> duration.toNanos() / 1e6).orElse(Double.NaN);
        }
    }

    static double parseStat(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ");
        double ticks = 0;
        for (int i = FIRST_TIME; i < FIRST_TIME + 4; i++) {
            ticks += Long.parseLong(fields[i]);
        }
        return ticks * MILLIS_PER_TICK;
    }
}
