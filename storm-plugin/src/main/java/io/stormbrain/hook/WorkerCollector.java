package io.stormbrain.hook;

import io.stormbrain.thrift.NodeLoad;
import io.stormbrain.thrift.WindowReport;
import io.stormbrain.thrift.stormbrainConstants;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gathers the counts of all tasks of a worker, window by window, into the metric log and to the brain. Windows end at
 * whole multiples of their length by the clock, so that those of different workers can be laid side by side.
 */
final class WorkerCollector {
    private static final Logger LOG = LoggerFactory.getLogger(WorkerCollector.class);

    private final WorkerIdentity worker;
    private final Map<Integer, TaskCounters> tasks = new ConcurrentHashMap<>();
    private final WindowCounter counter;
    private final Sampling sampling;
    private final WindowJson json;
    private final MetricLog log;
    private final NodeGauge nodeGauge;
    private final ReportSender sender;
    private final ScheduledExecutorService clock;
    private final Runnable onEnd;
    private final AtomicInteger finished = new AtomicInteger();

    private WorkerCollector(WorkerIdentity worker, HookSettings settings, ReportSender sender, Runnable onEnd) {
        this.worker = worker;
        this.counter = new WindowCounter(new ThreadCpu(), new ShellCpu(), worker.startMs());
        this.sampling = new Sampling(settings.windowSecs());
        this.json = new WindowJson(worker);
        this.log = new MetricLog(settings, worker);
        this.nodeGauge = new NodeGauge(settings.dir(), MetricLog.safe(worker.node()), Path.of("/proc"));
        this.sender = sender;
        this.onEnd = onEnd;
        this.clock = Executors.newSingleThreadScheduledExecutor(job -> {
            Thread thread = new Thread(job, "brain-windows-" + worker.port());
            thread.setDaemon(true);
            return thread;
        });
    }

    static WorkerCollector start(WorkerIdentity worker, Map<String, Object> conf, Runnable onEnd) {
        HookSettings settings = HookSettings.from(conf);
        ReportSender sender = new ReportSender(settings.brain(), conf, "brain-report-" + worker.port());
        WorkerCollector collector = new WorkerCollector(worker, settings, sender, onEnd);
        sender.start();
        long lengthMs = settings.windowSecs() * 1000L;
        collector.clock.scheduleAtFixedRate(collector::closeWindow,
                lengthMs - System.currentTimeMillis() % lengthMs, lengthMs, TimeUnit.MILLISECONDS);
        collector.clock.scheduleAtFixedRate(collector::beginPeriod, 0, collector.sampling.periodMs(), TimeUnit.MILLISECONDS);
        LOG.info("TrafficHook counts topology {} on node {}, worker {}: windows of {} s to {}", worker.topologyId(),
                worker.node(), worker.worker(), settings.windowSecs(), settings.dir());
        return collector;
    }

    TaskCounters register(TaskCounters counters) {
        tasks.put(counters.task, counters);
        return counters;
    }

    /**
     * A task has ended, and with it the worker: Storm moves no single task. The first such news closes a window, because
     * the supervisor may not wait for the last.
     */
    void finished() throws InterruptedException {
        int ended = finished.incrementAndGet();
        if (ended == 1 && !clock.isShutdown()) {
            clock.execute(this::closeWindow);
        }
        if (ended == tasks.size()) {
            onEnd.run();
            clock.execute(this::closeLastWindow);
            clock.shutdown();
            clock.awaitTermination(2, TimeUnit.SECONDS);
            sender.close();
        }
    }

    private void beginPeriod() {
        try {
            clock.schedule(this::slice, sampling.sliceAtMs(), TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.trace("the worker ends", e);
        }
    }

    private void slice() {
        sampling.beginSlice(tasks.values(), System.nanoTime());
        try {
            clock.schedule(() -> sampling.endSlice(tasks.values(), System.nanoTime()), sampling.sliceMs(), TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.trace("the worker ends", e);
        }
    }

    private void closeLastWindow() {
        closeWindow();
        log.close();
        nodeGauge.close();
    }

    /** Runs on the clock's thread, and must not throw: that would end the clock. */
    private void closeWindow() {
        try {
            Collection<TaskCounters> all = tasks.values();
            Window window = counter.close(all, System.currentTimeMillis(), System.nanoTime());
            NodeLoad node = nodeGauge.read();
            sender.offer(report(window, node));
            log.append(json.lines(window, node, sender.dropped(), log.droppedLines()));
        } catch (Throwable t) {
            LOG.warn("a window of topology {} is lost", worker.topologyId(), t);
        }
    }

    private WindowReport report(Window window, NodeLoad node) {
        WindowReport report = new WindowReport(stormbrainConstants.PROTOCOL_VERSION, worker.topologyId(), worker.reportId(),
                worker.node(), worker.host(), worker.port(), window.sequence(), window.startMs(), window.endMs(),
                window.edges(), window.tasks().stream().map(Window.Task::load).toList());
        report.setNode_load(node);
        report.setDropped_lines(log.droppedLines());
        return report;
    }
}
