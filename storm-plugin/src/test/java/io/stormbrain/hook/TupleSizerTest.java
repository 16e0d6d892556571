package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.storm.serialization.KryoValuesSerializer;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

class TupleSizerTest {
    private final Map<String, Object> conf = Utils.readDefaultConfig();
    private final TupleSizer sizer = new TupleSizer(conf);

    /** Storm's own serialiser is the judge. */
    @Test
    void isCloseToWhatStormWrites() {
        KryoValuesSerializer kryo = new KryoValuesSerializer(conf);
        Random random = new Random(11);
        for (int i = 0; i < 500; i++) {
            List<Object> values = new ArrayList<>();
            for (int n = random.nextInt(6); n >= 0; n--) {
                values.add(value(random, 2));
            }
            int written = kryo.serialize(values).length;
            int estimated = sizer.size(values);
            assertTrue(Math.abs(estimated - written) <= 4 + written * 0.1, written + " against " + estimated + ": " + values);
        }
    }

    private static Object value(Random random, int depth) {
        switch (random.nextInt(depth > 0 ? 9 : 7)) {
            case 0:
                return "x".repeat(random.nextInt(2000));
            case 1:
                return "déjà vu ".repeat(1 + random.nextInt(100));
            case 2:
                return random.nextInt() >> random.nextInt(31);
            case 3:
                return random.nextLong() >> random.nextInt(63);
            case 4:
                return random.nextDouble();
            case 5:
                return random.nextBoolean();
            case 6:
                return new byte[random.nextInt(5000)];
            case 7:
                return new ArrayList<>(Collections.nCopies(random.nextInt(20), value(random, depth - 1)));
            default:
                Map<String, Object> map = new HashMap<>();
                for (int entries = random.nextInt(12); entries >= 0; entries--) {
                    map.put("key" + random.nextInt(100), value(random, depth - 1));
                }
                return map;
        }
    }

    @Test
    void longCollectionsAreExtrapolated() {
        List<Object> values = List.of(new ArrayList<>(Collections.nCopies(100_000, "0123456789")));
        double written = new KryoValuesSerializer(conf).serialize(values).length;
        assertEquals(1.0, sizer.size(values) / written, 0.05);
    }

    @Test
    void neverThrowsWhateverTheTupleHolds() {
        Object hostile = new ArrayList<>() {
            @Override
            public int size() {
                throw new IllegalStateException("do not look");
            }
        };
        List<Object> nested = new ArrayList<>();
        nested.add(nested);
        for (int i = 0; i < 20; i++) {
            assertEquals(TupleSizer.UNKNOWN, sizer.size(Arrays.asList(hostile)));
            assertTrue(sizer.size(Arrays.asList(new Thread(), null)) > 0);
            assertTrue(sizer.size(nested) > 0);
        }
        assertEquals(TupleSizer.UNKNOWN, sizer.size(null));
    }
}
