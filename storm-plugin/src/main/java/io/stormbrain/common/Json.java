package io.stormbrain.common;

import java.util.Map;

/** Writes JSON. Small enough to need no library, whose version would have to fit every Storm. */
public final class Json {
    private static final char[] HEX = "0123456789abcdef".toCharArray();

    private Json() {
    }

    /** The JSON text of a configuration value: null, string, number, boolean, list or map of these. */
    public static String text(Object value) {
        StringBuilder out = new StringBuilder();
        value(out, value);
        return out.toString();
    }

    private static void value(StringBuilder out, Object value) {
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Double || value instanceof Float) {
            number(out, ((Number) value).doubleValue());
        } else if (value instanceof Number) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            String comma = "";
            out.append('{');
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(comma);
                string(out, String.valueOf(entry.getKey()));
                out.append(':');
                value(out, entry.getValue());
                comma = ",";
            }
            out.append('}');
        } else if (value instanceof Iterable<?> list) {
            String comma = "";
            out.append('[');
            for (Object element : list) {
                out.append(comma);
                value(out, element);
                comma = ",";
            }
            out.append(']');
        } else {
            string(out, value.toString());
        }
    }

    /** JSON knows neither NaN nor infinity: both become null. */
    public static void number(StringBuilder out, double number) {
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            out.append("null");
        } else if (number == Math.rint(number) && Math.abs(number) < 1e15) {
            out.append((long) number).append(".0");
        } else {
            out.append(number);
        }
    }

    public static void string(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                // surrogates escaped too: a lone one would not survive UTF-8
                out.append("\\u").append(HEX[c >> 12]).append(HEX[c >> 8 & 15]).append(HEX[c >> 4 & 15])
                        .append(HEX[c & 15]);
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
