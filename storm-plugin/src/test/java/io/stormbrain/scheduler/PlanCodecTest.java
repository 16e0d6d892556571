package io.stormbrain.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormbrain.testing.Plans;
import io.stormbrain.testing.TestCluster;
import io.stormbrain.thrift.Plan;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PlanCodecTest {
    private final TestCluster cluster = new TestCluster().nodes(2, 2).topology("t-1", 2, 1, 3, 1);
    private final Plan plan = Plans.plan(cluster.details("t-1"), 3, cluster.placement("t-1", "n1:6700", "n2:6701"));

    @Test
    void readsAPlainPlan() throws Exception {
        StoredPlan stored = PlanCodec.decode(Plans.plain(plan)).plan();
        assertEquals(plan, stored.plan());
        assertEquals(Plans.sha256(Plans.bytes(plan)), stored.digest());
    }

    @Test
    void readsACompressedPlanWithTheSameDigest() throws Exception {
        StoredPlan stored = PlanCodec.decode(Plans.deflated(plan)).plan();
        assertEquals(plan, stored.plan());
        assertEquals(Plans.sha256(Plans.bytes(plan)), stored.digest());
    }

    @Test
    void saysWhatIsWrongWithTheHeader() throws Exception {
        assertUnreadable(null, "too few");
        assertUnreadable(new byte[3], "too few");
        assertUnreadable("not a plan at all".getBytes(), "SBPL");
        byte[] newer = Plans.plain(plan);
        newer[4] = 9;
        assertUnreadable(newer, "format 9");
        byte[] strange = Plans.plain(plan);
        strange[5] = 7;
        assertUnreadable(strange, "encoding 7");
    }

    @Test
    void refusesEveryTruncation() throws Exception {
        byte[] whole = Plans.plain(plan);
        byte[] packed = Plans.deflated(plan);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(PlanCodec.Unreadable.class, () -> PlanCodec.decode(cut));
        }
        // the last bytes of zlib are a checksum, so none may be missing either
        for (int length = 0; length < packed.length; length++) {
            byte[] cut = Arrays.copyOf(packed, length);
            assertThrows(PlanCodec.Unreadable.class, () -> PlanCodec.decode(cut));
        }
    }

    /** Garbage may by chance still be a plan, but it must never be anything worse than unreadable. */
    @Test
    void survivesRandomDamage() throws Exception {
        Random random = new Random(7);
        int unreadable = 0;
        for (int i = 0; i < 5000; i++) {
            byte[] damaged = random.nextBoolean() ? Plans.plain(plan) : Plans.deflated(plan);
            for (int flips = 1 + random.nextInt(8); flips > 0; flips--) {
                damaged[6 + random.nextInt(damaged.length - 6)] = (byte) random.nextInt(256);
            }
            try {
                PlanCodec.decode(damaged);
            } catch (PlanCodec.Unreadable e) {
                unreadable++;
            }
        }
        assertTrue(unreadable > 1000, "damage is noticed: " + unreadable);
    }

    @Test
    void refusesAPlanThatUnpacksToTooMuch() throws Exception {
        byte[] bomb = Plans.znode(1, Plans.deflate(new byte[PlanCodec.MAX_PLAN_BYTES + 1]));
        assertTrue(bomb.length < 1024 * 1024);
        assertUnreadable(bomb, "more than");
    }

    @Test
    void refusesAListThatClaimsMoreThanThereIs() throws Exception {
        // field 9, a list of structs, 2^31 - 1 of them
        byte[] lie = {15, 0, 9, 12, 0x7f, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0, 0, 0, 0};
        assertUnreadable(Plans.znode(0, lie), "cannot be read");
    }

    private static void assertUnreadable(byte[] znode, String word) {
        PlanCodec.Unreadable error = assertThrows(PlanCodec.Unreadable.class, () -> PlanCodec.decode(znode));
        assertTrue(error.getMessage().contains(word), error.getMessage());
    }
}
