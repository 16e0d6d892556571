package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.ShellComponent;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.utils.ShellProcess;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real subprocesses that burn real CPU. */
@Timeout(60)
class ShellCpuTest {
    @TempDir
    private Path dir;
    private final List<Process> started = new ArrayList<>();
    private Worker worker;

    @BeforeEach
    void prepare() throws Exception {
        // burns a while, in itself and in a child that it waits for, says so, and waits to be ended
        String work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done\n";
        Path script = dir.resolve("multilang");
        Files.writeString(script, "#!/bin/sh\n" + work + "(" + work + ")\necho done\nread end\n");
        script.toFile().setExecutable(true);
        ComponentCommon common = new ComponentCommon(Map.of(), Map.of());
        Bolt bolt = new Bolt(ComponentObject.shell(new ShellComponent("multilang", "bolts.Count")), common);
        worker = new Worker(6700, new StormTopology(Map.of(), Map.of("count", bolt), Map.of()));
    }

    @AfterEach
    void end() throws Exception {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
    }

    /** Returns when the subprocess has burnt its share. */
    private Process burn() throws Exception {
        Process process = new ProcessBuilder(dir.resolve("multilang").toString(), "bolts.Count").start();
        started.add(process);
        assertEquals("done", new BufferedReader(new InputStreamReader(process.getInputStream())).readLine());
        return process;
    }

    private TaskCounters counters(int task) {
        return new TaskCounters(worker.conf, worker.context(task));
    }

    @Test
    void theCommandOfADeclaredComponentFindsItsProcess() throws Exception {
        Process process = burn();
        TaskCounters task = counters(2);
        ShellCpu cpu = new ShellCpu();
        cpu.beginWindow(List.of(task));
        assertEquals(process.pid(), cpu.use(2).pid());
        assertTrue(cpu.use(2).millis() > 0, cpu.use(2).toString());
        cpu.beginWindow(List.of(task));
        assertEquals(0, cpu.use(2).millis(), "it has not worked since");
    }

    @Test
    void tasksOfOneComponentShareWhatCannotBeToldApart() throws Exception {
        burn();
        burn();
        ShellCpu cpu = new ShellCpu();
        cpu.beginWindow(List.of(counters(2), counters(3)));
        assertEquals(cpu.use(2).millis(), cpu.use(3).millis());
        assertNotEquals(cpu.use(2).pid(), cpu.use(3).pid());
    }

    @Test
    void aRestartedSubprocessIsFoundAgain() throws Exception {
        Process first = burn();
        TaskCounters task = counters(2);
        ShellCpu cpu = new ShellCpu();
        cpu.beginWindow(List.of(task));
        first.destroyForcibly().waitFor();
        Process second = burn();
        cpu.beginWindow(List.of(task));
        assertEquals(second.pid(), cpu.use(2).pid());
        assertTrue(cpu.use(2).millis() > 0, cpu.use(2).toString());
    }

    @Test
    void theLogHandlerTellsTasksApart() throws Exception {
        Process idle = burn();
        ShellCpu cpu = new ShellCpu();
        TaskCounters one = counters(2);
        TaskCounters two = counters(3);
        tell(2, idle.pid());
        cpu.beginWindow(List.of(one, two));
        Process busy = burn();
        tell(3, busy.pid());
        cpu.beginWindow(List.of(one, two));
        assertEquals(new ShellCpu.Use(idle.pid(), 0), cpu.use(2));
        assertEquals(busy.pid(), cpu.use(3).pid());
        assertTrue(cpu.use(3).millis() > 0, cpu.use(3).toString());
    }

    private void tell(int task, long subprocess) {
        ShellProcess process = new ShellProcess(new String[] {"multilang"}) {
            @Override
            public Number getPid() {
                return subprocess;
            }
        };
        new BrainShellLogHandler().setUpContext(ShellBolt.class, process, worker.context(task));
    }

    @Test
    void aJavaTaskHasNone() {
        TaskCounters task = new TaskCounters(worker.conf, new Worker(6700).context(2));
        ShellCpu cpu = new ShellCpu();
        cpu.beginWindow(List.of(task));
        assertNull(cpu.use(2));
    }

    @Test
    void theTimesOfAProcessStandAfterItsName() {
        String stat = "77 (a ) odd (name) S 1 77 77 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 5 6 7";
        assertEquals(1240, ProcessTable.parseStat(stat));
    }
}
