package io.stormbrain.scheduler;

import io.stormbrain.thrift.PlanRef;
import io.stormbrain.thrift.ScheduleReply;
import java.util.HashMap;
import java.util.Map;

/**
 * What came of asking the brain.
 *
 * @param refs    plan references by topology id
 * @param notes   the brain's words by topology id
 * @param failure why there is no answer ("brain unreachable: …"), or null if the brain answered
 */
record Answer(Map<String, PlanRef> refs, Map<String, String> notes, String failure) {

    static Answer of(ScheduleReply reply) {
        Map<String, PlanRef> refs = new HashMap<>();
        for (PlanRef ref : reply.getPlans()) {
            // of two references for one topology the newer epoch counts
            refs.merge(ref.getTopology_id(), ref, (a, b) -> a.getEpoch() >= b.getEpoch() ? a : b);
        }
        Map<String, String> notes = reply.isSetNotes() ? reply.getNotes() : Map.of();
        return new Answer(refs, notes, null);
    }

    static Answer failed(String failure) {
        return new Answer(Map.of(), Map.of(), failure);
    }

    boolean answered() {
        return failure == null;
    }
}
