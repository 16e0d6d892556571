package io.stormbrain.bench;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Word count as in every Storm tutorial: sentences ─shuffle─► split ─fields(word)─► count. Options: {@code spouts} (2),
 * {@code splits} (4), {@code counts} (4), {@code words} (10 a sentence), {@code rate} (sentences a second of a spout task, 0).
 */
public final class WordCountTopology {
    private WordCountTopology() {
    }

    public static void main(String[] args) throws Exception {
        Submission submission = new Submission(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", new SentenceSpout(submission.option("words", 10), submission.option("rate", 0)),
                submission.option("spouts", 2));
        builder.setBolt("split", new SplitBolt(), submission.option("splits", 4)).shuffleGrouping("sentences");
        builder.setBolt("count", new CountBolt(), submission.option("counts", 4)).fieldsGrouping("split", new Fields("word"));
        submission.submit(builder.createTopology());
    }
}
