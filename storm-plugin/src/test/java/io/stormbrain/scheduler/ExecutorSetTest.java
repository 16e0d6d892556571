package io.stormbrain.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.storm.scheduler.ExecutorDetails;
import org.junit.jupiter.api.Test;

class ExecutorSetTest {
    /** The value was computed by executor_set_hash in brain/model/topology.py. */
    @Test
    void hashIsTheSameAsInPython() {
        Map<ExecutorDetails, String> executors = Map.of(
                new ExecutorDetails(1, 1), "a",
                new ExecutorDetails(4, 5), "b",
                new ExecutorDetails(2, 3), "b",
                new ExecutorDetails(10, 10), "__acker",
                new ExecutorDetails(6, 9), "zoë");
        assertEquals("b17428c31339025a24ce7188e98ece932d8ce15a465d1337cd3213948e16b758", ExecutorSet.hash(executors));
    }
}
