package io.stormbrain.scheduler;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs one job at a time on one daemon thread, for callers that wait only so long. A job that hangs (in a DNS lookup,
 * say) is left behind; until it ends, further jobs are refused at once instead of queueing up behind it.
 */
final class SingleFlight implements AutoCloseable {
    private final ExecutorService thread;
    private final AtomicBoolean busy = new AtomicBoolean();

    SingleFlight(String threadName) {
        this.thread = Executors.newSingleThreadExecutor(job -> {
            Thread daemon = new Thread(job, threadName);
            daemon.setDaemon(true);
            return daemon;
        });
    }

    /** The job before this one has not ended. */
    static final class Busy extends Exception {
        private static final long serialVersionUID = 1L;
    }

    /**
     * Runs the job and waits for it.
     *
     * @param onTimeout frees what the job waits on, such as its socket; called before {@code TimeoutException} is thrown
     */
    <T> T call(Callable<T> job, Deadline deadline, Runnable onTimeout)
            throws Busy, TimeoutException, ExecutionException, InterruptedException {
        if (!busy.compareAndSet(false, true)) {
            throw new Busy();
        }
        Future<T> future;
        try {
            future = thread.submit(() -> {
                try {
                    return job.call();
                } finally {
                    busy.set(false);
                }
            });
        } catch (RuntimeException e) {
            busy.set(false);
            throw new ExecutionException("the background thread takes no more work", e);
        }
        try {
            return future.get(deadline.remainingMs(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException | InterruptedException e) {
            onTimeout.run();
            throw e;
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
