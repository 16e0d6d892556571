package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.thrift.TaskLoad;
import java.util.List;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.task.TopologyContext;
import org.junit.jupiter.api.Test;

/** A busy task is counted in slices of time, and its counts are scaled; with Storm's own contexts. */
class GateTest {
    private static final long SECOND = 1_000_000_000L;

    private final Worker worker = new Worker(6700);
    private final TopologyContext context = worker.context(2);
    private final TaskCounters task = new TaskCounters(worker.conf, context);
    private final WindowCounter windows = new WindowCounter(new ThreadCpu(), new ShellCpu(), 0);

    @Test
    void aShutGateLooksEmptyToStormButKeepsTheHook() {
        BaseTaskHook hook = new BaseTaskHook();
        context.addTaskHook(hook);
        assertFalse(context.getHooks().isEmpty());
        task.gate.shut(System.nanoTime());
        assertTrue(context.getHooks().isEmpty(), "Storm then makes no object and no call");
        assertEquals(List.of(hook), List.copyOf(context.getHooks().stream().toList()), "and cleanup() still comes");
        task.gate.open(System.nanoTime());
        assertFalse(context.getHooks().isEmpty());
    }

    @Test
    void hooksOfOthersGetEveryCall() {
        context.addTaskHook(new BaseTaskHook());
        context.addTaskHook(new BaseTaskHook());
        task.gate.shut(System.nanoTime());
        assertFalse(context.getHooks().isEmpty());
        assertFalse(task.gate.isOpen(), "but ours does not count them");
    }

    @Test
    void whatWasCountedInATenthOfTheTimeIsReportedTenfold() {
        long start = System.nanoTime();
        window(start);
        task.gate.shut(start);
        task.gate.open(start + 9 * SECOND);
        execute(1000);
        task.failed();
        TaskLoad load = window(start + 10 * SECOND);
        assertEquals(10_000, load.getExecuted());
        assertEquals(1, load.getFailed(), "failures are seen whole");
        execute(500);
        assertEquals(500, window(start + 12 * SECOND).getExecuted(), "open all the time: exact again");
    }

    @Test
    void aWindowWithoutASliceIsMadeUpByTheNext() {
        long start = System.nanoTime();
        window(start);
        execute(100);
        task.gate.shut(start);
        assertEquals(0, window(start + SECOND).getExecuted());
        task.gate.open(start + SECOND);
        assertEquals(200, window(start + 2 * SECOND).getExecuted());
    }

    @Test
    void onlyBusyTasksAreCountedInSlices() {
        Sampling sampling = new Sampling(5);
        long now = System.nanoTime();
        sampling.endSlice(List.of(task), now);
        assertTrue(task.gate.isOpen(), "one look is not enough");
        execute(Sampling.BUSY / 2);
        sampling.endSlice(List.of(task), now += SECOND);
        assertTrue(task.gate.isOpen());
        execute(Sampling.BUSY * 2);
        sampling.endSlice(List.of(task), now += SECOND);
        assertFalse(task.gate.isOpen());
        sampling.beginSlice(List.of(task), now += SECOND);
        assertTrue(task.gate.isOpen());
        execute(Sampling.CALM / 20);
        sampling.endSlice(List.of(task), now += SECOND / 10);
        assertTrue(task.gate.isOpen(), "calm again, whole again");
    }

    @Test
    void aBusyTaskThatPausesIsStillBusyForAWhile() {
        Sampling sampling = new Sampling(5);
        long now = System.nanoTime();
        sampling.endSlice(List.of(task), now);
        execute(Sampling.BUSY * 2);
        sampling.endSlice(List.of(task), now += SECOND);
        for (int i = 0; i < Sampling.PAUSES; i++) {
            sampling.beginSlice(List.of(task), now += SECOND);
            sampling.endSlice(List.of(task), now += SECOND / 20);
            assertFalse(task.gate.isOpen());
        }
        sampling.beginSlice(List.of(task), now += SECOND);
        sampling.endSlice(List.of(task), now += SECOND / 20);
        assertTrue(task.gate.isOpen());
    }

    private void execute(int tuples) {
        for (int i = 0; i < tuples; i++) {
            task.executed(worker.tuple(4, "default", "word"), null);
        }
    }

    private TaskLoad window(long nowNs) {
        return windows.close(List.of(task), 0, nowNs).tasks().get(0).load();
    }
}
