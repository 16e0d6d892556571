package io.stormbrain.bench;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Constants;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Keeps the latest count of each word, and says its ten best at each tick. */
public final class RankBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    private static final int TOP = 10;

    private transient OutputCollector collector;
    private transient Map<String, Long> counts;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector output) {
        collector = output;
        counts = new HashMap<>();
    }

    @Override
    public void execute(Tuple input) {
        if (Constants.SYSTEM_TICK_STREAM_ID.equals(input.getSourceStreamId())) {
            List<Map.Entry<String, Long>> best = counts.entrySet().stream()
                    .sorted(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder()))
                    .limit(TOP).toList();
            best.forEach(entry -> collector.emit(new Values(entry.getKey(), entry.getValue())));
        } else {
            counts.put(input.getString(0), input.getLong(1));
        }
        collector.ack(input);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return Map.of("topology.tick.tuple.freq.secs", 1);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word", "count"));
    }
}
