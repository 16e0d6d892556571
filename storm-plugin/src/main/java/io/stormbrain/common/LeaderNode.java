package io.stormbrain.common;

import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The znode in which the leading brain says where it listens: {@code {"address": "host:port", …}}. */
public final class LeaderNode {
    /** A host name and a port never need a JSON escape, so one pattern reads the field safely. */
    private static final Pattern ADDRESS = Pattern.compile("\"address\"\\s*:\\s*\"([^\"\\\\]+)\"");

    private LeaderNode() {
    }

    public static String path(String root) {
        return child(root, "leader");
    }

    /** A path below the root, also where the root is {@code /}. */
    public static String child(String root, String name) {
        return root.equals("/") ? "/" + name : root + "/" + name;
    }

    /**
     * Reads the leader's address.
     *
     * @throws IllegalArgumentException if the znode holds none
     */
    public static BrainAddress parse(byte[] data) {
        String text = data == null ? "" : new String(data, StandardCharsets.UTF_8);
        Matcher found = ADDRESS.matcher(text);
        if (!found.find()) {
            throw new IllegalArgumentException("the leader znode holds no \"address\"");
        }
        return BrainAddress.parse(found.group(1));
    }
}
