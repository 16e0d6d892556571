package io.stormbrain.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CommonTest {
    @Test
    void addressesAreRead() {
        assertEquals(new BrainAddress("brain.example", 7311), BrainAddress.parse(" brain.example:7311 "));
        assertEquals(new BrainAddress("::1", 7311), BrainAddress.parse("[::1]:7311"));
        assertEquals("[::1]:7311", BrainAddress.parse("[::1]:7311").toString());
        assertEquals(List.of(), BrainAddress.parseList(""));
        assertEquals(2, BrainAddress.parseList("a:1, b:2,").size());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "host", "host:", ":7311", "host:port", "host:0", "host:70000"})
    void otherTextsAreNoAddresses(String text) {
        assertThrows(IllegalArgumentException.class, () -> BrainAddress.parse(text));
    }

    @Test
    void everyKeyHasADefault() {
        BrainConfig config = BrainConfig.defaults();
        assertEquals(2000, config.deadlineMs());
        assertEquals(300, config.connectTimeoutMs());
        assertEquals("even", config.fallback());
        assertEquals("/stormbrain", config.zookeeperRoot());
        assertEquals(16 * 1024 * 1024, config.maxFrameBytes());
        assertEquals(List.of(), config.addresses());
    }

    @Test
    void wrongValuesAreNamedWithTheirKey() {
        assertNames("brain.scheduler.deadline.ms", "soon");
        assertNames("brain.scheduler.deadline.ms", 0);
        assertNames("brain.scheduler.fallback", "odd");
        assertNames("brain.scheduler.zookeeper.root", "stormbrain");
        assertNames("brain.scheduler.max.frame.bytes", -1);
    }

    private static void assertNames(String key, Object value) {
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> BrainConfig.from(Map.of(key, value)));
        assertTrue(error.getMessage().contains(key), error.getMessage());
    }

    @Test
    void theLeaderZnodeIsRead() {
        byte[] data = "{\"id\": \"b\", \"address\" : \"127.0.0.1:7311\", \"term\": 3}".getBytes();
        assertEquals(new BrainAddress("127.0.0.1", 7311), LeaderNode.parse(data));
        assertThrows(IllegalArgumentException.class, () -> LeaderNode.parse(null));
        assertThrows(IllegalArgumentException.class, () -> LeaderNode.parse("{}".getBytes()));
        assertEquals("/leader", LeaderNode.path("/"));
    }

    @Test
    void jsonIsWritten() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("a", new ArrayList<>(Arrays.asList(1, 2.5, null, true, "x")));
        map.put("quote\"\\", "line\nend\u0001é\ud83d\ude00");
        assertEquals("{\"a\":[1,2.5,null,true,\"x\"],\"quote\\\"\\\\\":\"line\\u000aend\\u0001é\\ud83d\\ude00\"}",
                Json.text(map));
        assertEquals("[null,3.0]", Json.text(List.of(Double.NaN, 3.0)));
    }

    /** Storm's daemons log their configuration through this at the start. */
    @Test
    void stormItselfDoesNotLogTheSecrets() {
        Map<String, Object> masked = org.apache.storm.utils.ConfigUtils.maskPasswords(Map.of(
                BrainConfig.TOKEN, "s3cret", SecretKeys.ZOOKEEPER_AUTH, "brain:s3cret", "nimbus.thrift.port", 6627));
        assertFalse(masked.toString().contains("s3cret"), masked.toString());
        assertEquals(6627, masked.get("nimbus.thrift.port"));
    }
}
