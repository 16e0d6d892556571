package io.stormbrain.bench;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseWindowedBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.windowing.TupleWindow;

/** Counts words over Storm's own sliding window and says all counts when it slides. */
public final class RollingCountBolt extends BaseWindowedBolt {
    private static final long serialVersionUID = 1L;

    private transient OutputCollector collector;
    private transient Map<String, Long> counts;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector output) {
        collector = output;
        counts = new HashMap<>();
    }

    @Override
    public void execute(TupleWindow window) {
        for (Tuple added : window.getNew()) {
            counts.merge(added.getString(0), 1L, Long::sum);
        }
        for (Tuple expired : window.getExpired()) {
            counts.merge(expired.getString(0), -1L, Long::sum);
        }
        counts.values().removeIf(count -> count <= 0);
        counts.forEach((word, count) -> collector.emit(new Values(word, count)));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word", "count"));
    }
}
