package io.stormbrain.bench;

import java.util.concurrent.TimeUnit;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseWindowedBolt.Duration;
import org.apache.storm.tuple.Fields;

/**
 * Rolling top words, as in Storm's examples: sentences ─shuffle─► split ─fields─► count (sliding window) ─fields─► rank
 * ─global─► top. Options as of {@link WordCountTopology}, and {@code ranks} (4). The window holds tuples back, so acks come when
 * it slides; {@code max_pending} must be large against the rate.
 */
public final class RollingTopWordsTopology {
    private RollingTopWordsTopology() {
    }

    public static void main(String[] args) throws Exception {
        Submission submission = new Submission(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", new SentenceSpout(submission.option("words", 10), submission.option("rate", 0)),
                submission.option("spouts", 2));
        builder.setBolt("split", new SplitBolt(), submission.option("splits", 4)).shuffleGrouping("sentences");
        builder.setBolt("count", new RollingCountBolt()
                .withWindow(new Duration(9, TimeUnit.SECONDS), new Duration(1, TimeUnit.SECONDS)),
                submission.option("counts", 4)).fieldsGrouping("split", new Fields("word"));
        builder.setBolt("rank", new RankBolt(), submission.option("ranks", 4)).fieldsGrouping("count", new Fields("word"));
        builder.setBolt("top", new RankBolt(), 1).globalGrouping("rank");
        submission.submit(builder.createTopology());
    }
}
