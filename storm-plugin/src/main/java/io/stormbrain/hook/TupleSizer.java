package io.stormbrain.hook;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.serialization.KryoValuesSerializer;

/**
 * How large a tuple's values are on the wire, as Storm's Kryo would write them. Strings, byte arrays, numbers and
 * collections of these are measured without writing them; anything else is really serialised, by an instance of its own.
 * Never throws: what cannot be measured counts as {@value #UNKNOWN} bytes.
 */
final class TupleSizer implements EdgeTable.Sizer {
    static final int UNKNOWN = 64;

    private static final int MAX_DEPTH = 16;
    /** Of longer collections so many elements are measured, and the rest is taken to be like them. */
    private static final int MAX_ELEMENTS = 256;
    private static final int MAX_KRYO_FAILURES = 8;
    /** The class that all elements of a list share, and that they do. */
    private static final int SHARED_CLASS = 2;

    private final Map<String, Object> conf;
    private KryoValuesSerializer kryo;
    private int kryoFailures;
    /** Whether a class that all elements of a list share is named once (Kryo 5) or with each (before); null until asked. */
    private Boolean namesSharedClassOnce;

    TupleSizer(Map<String, Object> conf) {
        this.conf = conf;
    }

    @Override
    public int size(List<Object> values) {
        try {
            long size = varint(values.size());
            for (int i = 0; i < values.size(); i++) {
                size += sizeOf(values.get(i), 0);
            }
            return (int) Math.min(size, Integer.MAX_VALUE);
        } catch (Throwable t) {
            return UNKNOWN;
        }
    }

    /** One byte for the class, then the value. */
    private long sizeOf(Object value, int depth) {
        if (value == null) {
            return 1;
        }
        if (value instanceof String text) {
            return 1 + utf8(text);
        }
        if (value instanceof byte[] bytes) {
            return 1 + varint(bytes.length + 1) + bytes.length;
        }
        if (value instanceof Integer number) {
            return 1 + varint((number << 1) ^ (number >> 31));
        }
        if (value instanceof Long number) {
            return 1 + varlong((number << 1) ^ (number >> 63));
        }
        if (value instanceof Boolean || value instanceof Byte) {
            return 2;
        }
        if (value instanceof Short || value instanceof Character) {
            return 3;
        }
        if (value instanceof Float) {
            return 5;
        }
        if (value instanceof Double) {
            return 9;
        }
        if (depth < MAX_DEPTH) {
            if (value instanceof List<?> list) {
                return 1 + collection(list, list.size(), depth + 1, namesSharedClassOnce());
            }
            if (value instanceof Map<?, ?> map) {
                return 1 + collection(map.keySet(), map.size(), depth + 1, false)
                        + collection(map.values(), map.size(), depth + 1, false) - varint(map.size());
            }
        }
        return byKryo(value);
    }

    private long collection(Iterable<?> elements, int count, int depth, boolean sharing) {
        long size = 0;
        int measured = 0;
        Class<?> common = null;
        boolean mixed = false;
        for (Object element : elements) {
            if (measured == MAX_ELEMENTS) {
                break;
            }
            size += sizeOf(element, depth);
            Class<?> type = element == null ? Void.class : element.getClass();
            mixed |= measured > 0 && type != common;
            common = type;
            measured++;
        }
        if (measured == 0) {
            return varint(count);
        }
        boolean shared = sharing && !mixed;
        if (shared) {
            size -= measured;
        }
        return varint(count) + (shared ? SHARED_CLASS : 0) + size * count / measured;
    }

    /** Asked of the Kryo that this Storm has: two elements more cost two bytes, or four with their classes. */
    private boolean namesSharedClassOnce() {
        if (namesSharedClassOnce == null) {
            long more = byKryo(new ArrayList<>(List.of(true, true, true))) - byKryo(new ArrayList<>(List.of(true)));
            namesSharedClassOnce = more < 4;
        }
        return namesSharedClassOnce;
    }

    private long byKryo(Object value) {
        if (kryoFailures >= MAX_KRYO_FAILURES) {
            return UNKNOWN;
        }
        try {
            if (kryo == null) {
                kryo = new KryoValuesSerializer(conf);
            }
            return kryo.serializeObject(value).length;
        } catch (Throwable t) {
            // An object that never leaves its worker need not be serialisable; and Kryo's state may be spoilt now.
            kryoFailures++;
            kryo = null;
            return UNKNOWN;
        }
    }

    private static long utf8(String text) {
        long size = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            size += c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
        }
        boolean shortAscii = size == text.length() && size > 1 && size <= 32; // needs no length before it
        return shortAscii ? size : size + varint(text.length() + 1);
    }

    private static int varint(int value) {
        return Math.max(1, (38 - Integer.numberOfLeadingZeros(value)) / 7);
    }

    private static int varlong(long value) {
        return Math.min(9, Math.max(1, (70 - Long.numberOfLeadingZeros(value)) / 7));
    }
}
