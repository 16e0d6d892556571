package io.stormbrain.bench;

import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Sentences of words whose frequencies fall off as in natural text (Zipf), as fast as acking allows or at a rate. */
public final class SentenceSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final int WORDS = 2000;
    private static final int SENTENCES = 4096;

    private final int wordsPerSentence;
    private final int ratePerSecond;
    private transient SpoutOutputCollector collector;
    private transient String[] sentences;
    private transient long sequence;
    private transient long startNanos;

    public SentenceSpout(int wordsPerSentence, int ratePerSecond) {
        this.wordsPerSentence = wordsPerSentence;
        this.ratePerSecond = ratePerSecond;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector output) {
        collector = output;
        Random random = new Random(context.getThisTaskIndex());
        sentences = new String[SENTENCES];
        for (int i = 0; i < SENTENCES; i++) {
            StringBuilder sentence = new StringBuilder();
            for (int w = 0; w < wordsPerSentence; w++) {
                int rank = (int) Math.min(WORDS - 1, Math.pow(WORDS, random.nextDouble()) - 1);
                sentence.append(w == 0 ? "" : " ").append("word").append(rank);
            }
            sentences[i] = sentence.toString();
        }
        startNanos = System.nanoTime();
    }

    @Override
    public void nextTuple() {
        if (ratePerSecond > 0 && sequence >= (System.nanoTime() - startNanos) / 1e9 * ratePerSecond) {
            LockSupport.parkNanos(100_000);
            return;
        }
        collector.emit(new Values(sentences[(int) (sequence % SENTENCES)]), sequence);
        sequence++;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("sentence"));
    }
}
