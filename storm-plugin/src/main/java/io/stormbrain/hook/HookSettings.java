package io.stormbrain.hook;

import io.stormbrain.common.BrainConfig;
import java.nio.file.Path;
import java.util.Map;
import org.apache.storm.utils.ObjectReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys of the hook. A wrong value is logged and replaced by its default: no setting may keep a worker from running.
 *
 * @param windowSecs {@value #WINDOW_SECS}: length of a window
 * @param dir        {@value #DIR}: where the metric log goes; null if no directory can be told
 * @param rollBytes  {@value #ROLL_MB}: size at which the next file begins
 * @param keepFiles  {@value #KEEP_FILES}: files kept per worker
 * @param brain      the cluster's keys: address, ZooKeeper root, token
 */
record HookSettings(int windowSecs, Path dir, long rollBytes, int keepFiles, BrainConfig brain) {
    static final String WINDOW_SECS = "topology.brain.window.secs";
    static final String DIR = "topology.brain.metrics.dir";
    static final String ROLL_MB = "topology.brain.metrics.roll.mb";
    static final String KEEP_FILES = "topology.brain.metrics.keep.files";

    private static final Logger LOG = LoggerFactory.getLogger(HookSettings.class);
    private static final long MIB = 1024 * 1024;

    static HookSettings from(Map<String, Object> conf) {
        return new HookSettings(
                number(conf, WINDOW_SECS, 5, 1, 3600),
                dir(conf),
                number(conf, ROLL_MB, 64, 1, 1 << 20) * MIB,
                number(conf, KEEP_FILES, 10, 1, 9999),
                brain(conf));
    }

    private static BrainConfig brain(Map<String, Object> conf) {
        try {
            return BrainConfig.from(conf);
        } catch (IllegalArgumentException e) {
            LOG.warn("{}; the defaults are used", e.getMessage());
            return BrainConfig.defaults();
        }
    }

    private static Path dir(Map<String, Object> conf) {
        Object own = conf.get(DIR);
        String logs = System.getProperty("storm.log.dir");
        if (own != null && !own.toString().isBlank()) {
            return Path.of(own.toString());
        }
        return logs == null || logs.isBlank() ? null : Path.of(logs, "brain-metrics");
    }

    private static int number(Map<String, Object> conf, String key, int otherwise, int least, int most) {
        try {
            int value = ObjectReader.getInt(conf.get(key), otherwise);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (IllegalArgumentException e) {
            // the warning below serves both cases
        }
        LOG.warn("{} is \"{}\": set it between {} and {}; {} is used", key, conf.get(key), least, most, otherwise);
        return otherwise;
    }
}
