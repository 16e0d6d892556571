package io.stormbrain.scheduler;

import io.stormbrain.thrift.ClusterState;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the brain on a thread of its own and comes back in time, whatever happens there. */
final class BrainAsker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BrainAsker.class);

    private final BrainClient client;
    private final SingleFlight flight = new SingleFlight("brain-ask");

    BrainAsker(BrainClient client) {
        this.client = client;
    }

    /** Never throws, never outlasts the deadline. */
    Answer ask(ClusterState state, Deadline deadline) {
        try {
            return Answer.of(flight.call(() -> client.ask(state, deadline), deadline, client::abort));
        } catch (SingleFlight.Busy e) {
            return Answer.failed("brain still busy: the request of an earlier round has not ended");
        } catch (TimeoutException e) {
            return Answer.failed("brain unreachable: no answer within the deadline");
        } catch (ExecutionException e) {
            LOG.debug("asking the brain failed", e.getCause());
            if (e.getCause() instanceof AskFailed failed) {
                return Answer.failed(failed.headline() + ": " + failed.getMessage());
            }
            return Answer.failed("brain unreachable: " + Words.of(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Answer.failed("brain not asked: Nimbus interrupted the scheduler");
        } catch (RuntimeException e) {
            LOG.debug("the brain's answer is unusable", e);
            return Answer.failed("brain refuses: its answer is unusable: " + Words.of(e));
        }
    }

    @Override
    public void close() {
        client.abort();
        flight.close();
    }
}
