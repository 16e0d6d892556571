package io.stormbrain.bench;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.shade.org.yaml.snakeyaml.Yaml;

/**
 * What the benchmark topologies' {@code main} share: {@code NIMBUS_HOST NIMBUS_PORT NAME JAR [key=value…]}. A key with a dot is
 * a Storm setting, its value JSON or text; the others are options of the topology.
 */
final class Submission {
    private final String[] args;
    private final Map<String, String> options = new HashMap<>();
    private final Map<String, Object> conf = new HashMap<>();

    Submission(String[] args) {
        if (args.length < 4) {
            throw new IllegalArgumentException("usage: NIMBUS_HOST NIMBUS_PORT NAME JAR [key=value ...]");
        }
        this.args = args.clone();
        for (int i = 4; i < args.length; i++) {
            String key = args[i].substring(0, Math.max(0, args[i].indexOf('=')));
            String value = args[i].substring(args[i].indexOf('=') + 1);
            if (key.contains(".")) {
                conf.put(key, parsed(value));
            } else {
                options.put(key, value);
            }
        }
    }

    /** By Storm's YAML, of which JSON is a part and which every Storm has; but words stay words, so that "off" is one. */
    private static Object parsed(String value) {
        boolean json = value.matches("[\\[{\"0-9-].*|true|false");
        return json ? new Yaml().load(value) : value;
    }

    int option(String name, int byDefault) {
        return Integer.parseInt(options.getOrDefault(name, String.valueOf(byDefault)));
    }

    void submit(StormTopology topology) throws Exception {
        conf.putIfAbsent(Config.TOPOLOGY_WORKERS, option("workers", 4));
        conf.putIfAbsent(Config.TOPOLOGY_MAX_SPOUT_PENDING, option("max_pending", 500));
        conf.put(Config.NIMBUS_SEEDS, List.of(args[0]));
        conf.put(Config.NIMBUS_THRIFT_PORT, Integer.parseInt(args[1]));
        System.setProperty("storm.jar", Path.of(args[3]).toAbsolutePath().toString());
        // Only these go into the topology's configuration: hooks and the like come from Nimbus's storm.yaml.
        StormSubmitter.submitTopology(args[2], conf, topology);
    }
}
