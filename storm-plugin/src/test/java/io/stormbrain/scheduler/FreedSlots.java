package io.stormbrain.scheduler;

import java.util.ArrayList;
import java.util.List;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.WorkerSlot;

/** Storm's real cluster, which also writes down what is freed. */
final class FreedSlots extends Cluster {
    final List<WorkerSlot> freed = new ArrayList<>();

    FreedSlots(Cluster cluster) {
        super(cluster);
    }

    @Override
    public void freeSlot(WorkerSlot slot) {
        freed.add(slot);
        super.freeSlot(slot);
    }
}
