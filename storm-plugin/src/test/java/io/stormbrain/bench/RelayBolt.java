package io.stormbrain.bench;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;

/** Hands every tuple on, or swallows it at the end of the chain. */
public final class RelayBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final boolean relays;
    private transient OutputCollector collector;

    public RelayBolt(boolean relays) {
        this.relays = relays;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector output) {
        collector = output;
    }

    @Override
    public void execute(Tuple tuple) {
        if (relays) {
            collector.emit(tuple, tuple.getValues());
        }
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("sequence", "payload"));
    }
}
