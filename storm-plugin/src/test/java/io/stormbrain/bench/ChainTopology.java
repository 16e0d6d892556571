package io.stormbrain.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.utils.Utils;

/**
 * A chain spout → bolt → … → bolt in plain Java, as fast as Storm goes, for measuring what a hook costs.
 *
 * <p>{@code java -cp <test jar>:<class path> io.stormbrain.bench.ChainTopology NIMBUS_HOST NIMBUS_PORT NAME JAR [key=value…]}
 * submits it; JAR is the test jar. Options: {@code bolts} (3), {@code parallelism} (1, of every component),
 * {@code payload.bytes} (100), {@code ackers} (1; 0 switches acking off), {@code max.pending} (1000), {@code workers} (1),
 * {@code rate} (0: as fast as it goes; else tuples a second per spout task). Any other key is a Storm setting;
 * {@code topology.auto.task.hooks=} (empty) switches the hook off for this topology.
 */
public final class ChainTopology {
    private ChainTopology() {
    }

    /** The chain: s → b1 → … → b&lt;bolts&gt;. */
    public static StormTopology build(int bolts, int parallelism, int payloadBytes, boolean acking, int rate) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("s", new PayloadSpout(payloadBytes, acking, rate), parallelism);
        String before = "s";
        for (int i = 1; i <= bolts; i++) {
            BoltDeclarer bolt = builder.setBolt("b" + i, new RelayBolt(i < bolts), parallelism);
            bolt.shuffleGrouping(before);
            before = "b" + i;
        }
        return builder.createTopology();
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 4) {
            System.err.println("usage: ChainTopology NIMBUS_HOST NIMBUS_PORT NAME JAR [key=value ...]");
            System.exit(2);
        }
        Map<String, String> options = new HashMap<>(Map.of("bolts", "3", "parallelism", "1", "payload.bytes", "100",
                "ackers", "1", "max.pending", "1000", "workers", "1", "rate", "0"));
        Map<String, Object> conf = new HashMap<>();
        for (int i = 4; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            String key = equals < 0 ? args[i] : args[i].substring(0, equals);
            String value = equals < 0 ? "" : args[i].substring(equals + 1);
            if (options.containsKey(key)) {
                options.put(key, value);
            } else {
                conf.put(key, setting(key, value));
            }
        }
        int ackers = Integer.parseInt(options.get("ackers"));
        conf.put(Config.TOPOLOGY_WORKERS, Integer.parseInt(options.get("workers")));
        conf.put(Config.TOPOLOGY_ACKER_EXECUTORS, ackers);
        conf.put(Config.TOPOLOGY_MAX_SPOUT_PENDING, Integer.parseInt(options.get("max.pending")));
        conf.put(Config.NIMBUS_SEEDS, List.of(args[0]));
        conf.put(Config.NIMBUS_THRIFT_PORT, Integer.parseInt(args[1]));
        System.setProperty("storm.jar", Path.of(args[3]).toAbsolutePath().toString());
        Map<String, Object> full = Utils.readDefaultConfig();
        full.putAll(conf);
        StormSubmitter.submitTopology(args[2], full, build(
                Integer.parseInt(options.get("bolts")), Integer.parseInt(options.get("parallelism")),
                Integer.parseInt(options.get("payload.bytes")), ackers > 0, Integer.parseInt(options.get("rate"))));
    }

    private static Object setting(String key, String value) {
        if (key.equals(Config.TOPOLOGY_AUTO_TASK_HOOKS)) {
            List<String> hooks = new ArrayList<>();
            for (String hook : value.split(",")) {
                if (!hook.isBlank()) {
                    hooks.add(hook.trim());
                }
            }
            return hooks;
        }
        return value.matches("-?\\d{1,9}") ? (Object) Integer.valueOf(value) : value;
    }
}
