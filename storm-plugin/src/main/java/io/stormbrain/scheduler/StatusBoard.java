package io.stormbrain.scheduler;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says how each topology stands, in Storm's UI and in the log: once, when it changes. */
final class StatusBoard {
    private static final Logger LOG = LoggerFactory.getLogger(StatusBoard.class);

    private final Map<String, String> said = new HashMap<>();
    private Set<String> gone = Set.of();
    private String brainState;

    /**
     * A state to be glad of, or at least in order.
     *
     * @param note the brain's words: for the UI only, because they may change from round to round
     */
    void fine(Cluster cluster, String topologyId, String status, String note) {
        say(cluster, topologyId, status, note, false);
    }

    /** A state that an operator may want to look into. */
    void trouble(Cluster cluster, String topologyId, String status, String note) {
        say(cluster, topologyId, status, note, true);
    }

    /** Whether the brain answers; null means it does. */
    void brain(String failure) {
        String state = failure == null ? "brain answers" : failure;
        if (!state.equals(brainState)) {
            brainState = state;
            if (failure == null) {
                LOG.info("{}", state);
            } else {
                LOG.warn("{}", state);
            }
        }
    }

    /** Topologies that live no more, though the brain has plans for them. */
    void gone(Collection<String> topologyIds) {
        for (String id : topologyIds) {
            if (!gone.contains(id)) {
                LOG.warn("topology {}: the brain has a plan for it, but it lives no more", id);
            }
        }
        gone = Set.copyOf(topologyIds);
    }

    private void say(Cluster cluster, String topologyId, String status, String note, boolean warn) {
        if (!status.equals(said.put(topologyId, status))) {
            if (warn) {
                LOG.warn("topology {}: {}", topologyId, status);
            } else {
                LOG.info("topology {}: {}", topologyId, status);
            }
        }
        // setStatus writes a log line each time, so it is spared where the UI shows the words already
        String shown = note == null || note.isBlank() ? status : status + "; " + note.trim();
        if (!shown.equals(cluster.getStatusMap().get(topologyId))) {
            cluster.setStatus(topologyId, shown);
        }
    }

    void keepOnly(Collection<String> liveIds) {
        said.keySet().retainAll(liveIds);
    }
}
