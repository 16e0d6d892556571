package io.stormbrain.common;

import java.util.ArrayList;
import java.util.List;

/** Where a brain listens. The host is not resolved here: that may take long. */
public record BrainAddress(String host, int port) {

    /**
     * Reads {@code host:port}; an IPv6 host stands in brackets.
     *
     * @throws IllegalArgumentException if the text is anything else
     */
    public static BrainAddress parse(String text) {
        String trimmed = text.trim();
        int colon = trimmed.lastIndexOf(':');
        String host = colon < 1 ? "" : trimmed.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        int port = -1;
        try {
            port = Integer.parseInt(trimmed.substring(colon + 1));
        } catch (NumberFormatException e) {
            // refused below, together with ports out of range
        }
        if (host.isEmpty() || port < 1 || port > 65535) {
            throw new IllegalArgumentException("\"" + text + "\" is no brain address: host:port is expected");
        }
        return new BrainAddress(host, port);
    }

    /** Reads addresses with commas between them; an empty text is an empty list. */
    public static List<BrainAddress> parseList(String text) {
        List<BrainAddress> addresses = new ArrayList<>();
        for (String part : text.split(",")) {
            if (!part.isBlank()) {
                addresses.add(parse(part));
            }
        }
        return List.copyOf(addresses);
    }

    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
