package io.stormbrain.hook;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.testing.TestGlobalCount;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.utils.Utils;

/** A worker's real contexts and tuples: tasks 1 (__acker), 2 and 3 (count, one executor), 4 (words, a spout). */
final class Worker {
    static final String TOPOLOGY = "words-1-1700000000";
    final Map<String, Object> conf = Utils.readDefaultConfig();
    private final int port;
    private final Map<Integer, String> components = new TreeMap<>(Map.of(1, "__acker", 2, "count", 3, "count", 4, "words"));
    private final Map<String, Map<String, Object>> executorData = new HashMap<>();
    private final StormTopology topology;

    Worker(int port) {
        this(port, javaTopology());
    }

    Worker(int port, StormTopology topology) {
        this.port = port;
        this.topology = topology;
    }

    private static StormTopology javaTopology() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new TestWordSpout());
        builder.setBolt("count", new TestGlobalCount(), 1).setNumTasks(2).shuffleGrouping("words");
        return builder.createTopology();
    }

    TopologyContext context(int task) {
        return context(task, new StormMetricRegistry());
    }

    TopologyContext context(int task, StormMetricRegistry registry) {
        String component = components.getOrDefault(task, "__system");
        Map<String, List<Integer>> tasks = new HashMap<>();
        components.forEach((id, name) -> tasks.computeIfAbsent(name, k -> new ArrayList<>()).add(id));
        Map<String, Map<String, Fields>> fields = new HashMap<>();
        for (String name : List.of("words", "count", "__acker", "__system")) {
            fields.put(name, Map.of("default", new Fields("word"), "__ack_ack", new Fields("id", "value"),
                    "__ack_init", new Fields("id", "value"), "__tick", new Fields("secs")));
        }
        Map<Integer, String> all = new HashMap<>(components);
        all.put(-1, "__system");
        return new TopologyContext(topology, conf, all, tasks, fields, new HashMap<>(), TOPOLOGY, "/code", null, task, port,
                new ArrayList<>(components.keySet()), new HashMap<>(), new HashMap<>(),
                executorData.computeIfAbsent(component, k -> new HashMap<>()), new HashMap<>(), new AtomicBoolean(true),
                registry);
    }

    TrafficHook hook(int task) {
        TrafficHook hook = new TrafficHook();
        hook.prepare(conf, context(task));
        return hook;
    }

    Tuple tuple(int sourceTask, String stream, Object... values) {
        String component = components.getOrDefault(sourceTask, "__system");
        return new TupleImpl(context(4), List.of(values), component, sourceTask, stream);
    }
}
