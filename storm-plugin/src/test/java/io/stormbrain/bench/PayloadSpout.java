package io.stormbrain.bench;

import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Emits one payload again and again, as fast as it may or at a rate. */
public final class PayloadSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;

    private final int payloadBytes;
    private final boolean acking;
    private final int ratePerSecond;
    private transient SpoutOutputCollector collector;
    private transient byte[] payload;
    private transient long sequence;
    private transient long startNanos;

    /** Rate 0 means as fast as it goes. */
    public PayloadSpout(int payloadBytes, boolean acking, int ratePerSecond) {
        this.payloadBytes = payloadBytes;
        this.acking = acking;
        this.ratePerSecond = ratePerSecond;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector output) {
        collector = output;
        payload = new byte[payloadBytes];
        startNanos = System.nanoTime();
    }

    @Override
    public void nextTuple() {
        if (ratePerSecond > 0 && sequence >= (System.nanoTime() - startNanos) / 1e9 * ratePerSecond) {
            LockSupport.parkNanos(100_000);
            return;
        }
        sequence++;
        if (acking) {
            collector.emit(new Values(sequence, payload), sequence);
        } else {
            collector.emit(new Values(sequence, payload));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("sequence", "payload"));
    }
}
