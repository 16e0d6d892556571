package io.stormbrain.common;

import java.util.List;
import java.util.Map;
import org.apache.storm.utils.ObjectReader;

/**
 * The cluster keys of Stormbrain, read once. Every key has a default, so that {@code storm.scheduler} is the
 * only line that must be set.
 *
 * @param deadlineMs       {@value #DEADLINE_MS}: what the brain and ZooKeeper together may cost one scheduling round
 * @param connectTimeoutMs {@value #CONNECT_TIMEOUT_MS}: for the TCP connection to the brain
 * @param fallback         {@value #FALLBACK}: {@code even} (Storm's default scheduler) or {@code resource-aware}
 * @param zookeeperRoot    {@value #ZOOKEEPER_ROOT}: absolute path, not below storm.zookeeper.root
 * @param addresses        {@value #ADDRESS}: explicit {@code host:port[,host:port]}; empty: ask ZooKeeper for the leader
 * @param maxFrameBytes    {@value #MAX_FRAME_BYTES}: larger messages of the brain are refused unread
 * @param token            {@value #TOKEN}: shared secret sent with each request, or null
 * @param tls              certificates and key, or null for connections without TLS
 * @param zookeeperAuth    {@value #ZOOKEEPER_AUTH}: {@code user:password} that owns what agents are told, or null
 */
public record BrainConfig(
        int deadlineMs,
        int connectTimeoutMs,
        String fallback,
        String zookeeperRoot,
        List<BrainAddress> addresses,
        int maxFrameBytes,
        String token,
        TlsFiles tls,
        String zookeeperAuth) {

    public static final String DEADLINE_MS = "brain.scheduler.deadline.ms";
    public static final String CONNECT_TIMEOUT_MS = "brain.scheduler.connect.timeout.ms";
    public static final String FALLBACK = "brain.scheduler.fallback";
    public static final String ZOOKEEPER_ROOT = "brain.scheduler.zookeeper.root";
    public static final String ZOOKEEPER_AUTH = "brain.scheduler.zookeeper.auth";
    public static final String ADDRESS = "brain.scheduler.address";
    public static final String MAX_FRAME_BYTES = "brain.scheduler.max.frame.bytes";
    public static final String TOKEN = "brain.scheduler.token";

    public static final String FALLBACK_EVEN = "even";
    public static final String FALLBACK_RESOURCE_AWARE = "resource-aware";

    private static final int MIB = 1024 * 1024;

    /**
     * Reads the keys.
     *
     * @throws IllegalArgumentException naming the key and what it may hold
     */
    public static BrainConfig from(Map<String, Object> conf) {
        String fallback = text(conf, FALLBACK, FALLBACK_EVEN);
        if (!fallback.equals(FALLBACK_EVEN) && !fallback.equals(FALLBACK_RESOURCE_AWARE)) {
            throw new IllegalArgumentException(FALLBACK + " is \"" + fallback + "\": set it to \""
                    + FALLBACK_EVEN + "\" or \"" + FALLBACK_RESOURCE_AWARE + "\"");
        }
        String root = text(conf, ZOOKEEPER_ROOT, "/stormbrain");
        if (!root.startsWith("/") || (root.length() > 1 && root.endsWith("/"))) {
            throw new IllegalArgumentException(ZOOKEEPER_ROOT + " is \"" + root
                    + "\": it must begin with / and not end with it");
        }
        return new BrainConfig(
                number(conf, DEADLINE_MS, 2000, 50, 60_000),
                number(conf, CONNECT_TIMEOUT_MS, 300, 10, 60_000),
                fallback,
                root,
                BrainAddress.parseList(text(conf, ADDRESS, "")),
                number(conf, MAX_FRAME_BYTES, 16 * MIB, 65_536, 1024 * MIB),
                text(conf, TOKEN, null),
                TlsFiles.from(conf),
                credentials(conf));
    }

    /** Never shown, also where it is wrong. */
    private static String credentials(Map<String, Object> conf) {
        String auth = text(conf, ZOOKEEPER_AUTH, null);
        if (auth != null && (auth.indexOf(':') < 1 || auth.endsWith(":"))) {
            throw new IllegalArgumentException(ZOOKEEPER_AUTH + " must be user:password");
        }
        return auth;
    }

    /** The defaults: what a scheduler with unreadable settings works with. */
    public static BrainConfig defaults() {
        return from(Map.of());
    }

    private static String text(Map<String, Object> conf, String key, String otherwise) {
        Object value = conf.get(key);
        String trimmed = value == null ? "" : value.toString().trim();
        return trimmed.isEmpty() ? otherwise : trimmed;
    }

    private static int number(Map<String, Object> conf, String key, int otherwise, int least, int most) {
        Object value = conf.get(key);
        int number;
        try {
            number = ObjectReader.getInt(value, otherwise);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(key + " is \"" + value + "\": set it to a whole number", e);
        }
        if (number < least || number > most) {
            throw new IllegalArgumentException(
                    key + " is " + number + ": set it between " + least + " and " + most);
        }
        return number;
    }

    /** Without the secrets: this text may be logged. */
    @Override
    public String toString() {
        return "deadline " + deadlineMs + " ms, connect timeout " + connectTimeoutMs + " ms, fallback " + fallback
                + ", ZooKeeper root " + zookeeperRoot
                + ", brain " + (addresses.isEmpty() ? "by leader znode" : addresses.toString())
                + ", frames up to " + maxFrameBytes + " bytes, token " + (token == null ? "not set" : "set")
                + ", TLS " + (tls == null ? "off" : tls.toString())
                + ", ZooKeeper credentials " + (zookeeperAuth == null ? "not set" : "set");
    }
}
