package io.stormbrain.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.topology.TopologyBuilder;

/**
 * Fischer's Payload in plain Java (see {@code topologies/payload.py}): lines that never meet, so fast that links decide, not the
 * two cores. Options: {@code depth} (3), {@code lines} (4), {@code payload_bytes} (3072), {@code rate} (0: as fast as it goes),
 * {@code acking} (1), {@code max_pending}, {@code workers}.
 */
public final class LinesTopology {
    private LinesTopology() {
    }

    public static void main(String[] args) throws Exception {
        Submission submission = new Submission(args);
        int depth = submission.option("depth", 3);
        int lines = submission.option("lines", 4);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("spout", new PayloadSpout(submission.option("payload_bytes", 3072),
                submission.option("acking", 1) == 1, submission.option("rate", 0)), lines);
        String before = "spout";
        for (int stage = 1; stage <= depth; stage++) {
            String name = "bolt-" + stage;
            builder.setBolt(name, new RelayBolt(stage < depth), lines).customGrouping(before, new Weave(stage));
            before = name;
        }
        submission.submit(builder.createTopology());
    }

    /** Task i of a stage sends all it has to one task of the next: a permutation drawn from the stage's number. */
    static final class Weave implements CustomStreamGrouping {
        private static final long serialVersionUID = 1L;

        private final int stage;
        private transient List<Integer> sources;
        private transient List<List<Integer>> targets;

        Weave(int stage) {
            this.stage = stage;
        }

        @Override
        public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
            sources = new ArrayList<>(context.getComponentTasks(stream.get_componentId()));
            Collections.sort(sources);
            List<Integer> order = new ArrayList<>(targetTasks);
            Collections.sort(order);
            Collections.shuffle(order, new Random(stage));
            targets = new ArrayList<>();
            for (Integer task : order) {
                targets.add(List.of(task));
            }
        }

        @Override
        public List<Integer> chooseTasks(int taskId, List<Object> values) {
            return targets.get(sources.indexOf(taskId) % targets.size());
        }
    }
}
