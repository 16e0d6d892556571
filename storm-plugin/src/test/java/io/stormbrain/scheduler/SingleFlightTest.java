package io.stormbrain.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SingleFlightTest {
    private static final Runnable NOTHING = () -> { };

    @Test
    void aJobThatHangsIsLeftBehindAndTheNextIsRefusedUntilItEnds() throws Exception {
        CountDownLatch hang = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        AtomicBoolean told = new AtomicBoolean();
        try (SingleFlight flight = new SingleFlight("test-flight")) {
            assertThrows(TimeoutException.class, () -> flight.call(() -> {
                hang.await();
                ended.countDown();
                return 1;
            }, Deadline.after(50), () -> told.set(true)));
            assertTrue(told.get());
            assertThrows(SingleFlight.Busy.class, () -> flight.call(() -> 2, Deadline.after(50), NOTHING));
            hang.countDown();
            ended.await();
            assertEquals(3, callWhenFree(flight));
        }
    }

    private static int callWhenFree(SingleFlight flight) throws Exception {
        while (true) {
            try {
                return flight.call(() -> 3, Deadline.after(30_000), NOTHING);
            } catch (SingleFlight.Busy e) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void jobsOneAfterTheOtherAreNeverRefused() throws Exception {
        try (SingleFlight flight = new SingleFlight("test-flight")) {
            for (int i = 0; i < 10_000; i++) {
                int number = i;
                assertEquals(i, flight.call(() -> number, Deadline.after(30_000), NOTHING));
            }
        }
    }

    @Test
    void anErrorReachesTheCallerAndFreesTheThread() throws Exception {
        try (SingleFlight flight = new SingleFlight("test-flight")) {
            assertThrows(ExecutionException.class, () -> flight.call(() -> {
                throw new StackOverflowError("deep");
            }, Deadline.after(30_000), NOTHING));
            assertEquals(3, callWhenFree(flight));
        }
    }
}
