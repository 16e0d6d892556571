package io.stormbrain.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class EvenSchedulerPeerTest {
    private static final String SUPERVISORS = "\"supervisors\": [{\"id\": \"n1\", \"ports\": [6700, 6701]},"
            + " {\"id\": \"n2\", \"ports\": [6700]}, {\"id\": \"n3\", \"ports\": [6700], \"blacklisted\": true}]";

    private static void assertAnswer(String expected, String problem) throws Exception {
        ObjectMapper json = new ObjectMapper();
        assertEquals(json.readTree(expected), json.readTree(new EvenSchedulerPeer().answer(problem)));
    }

    @Test
    void evenTakesSlotsInTurn() throws Exception {
        assertAnswer("{\"assignments\": {\"t-1\": {\"1-1\": [\"n1\", 6700], \"2-3\": [\"n2\", 6700], \"4-4\": [\"n1\", 6700]}}}",
                "{\"scheduler\": \"even\", " + SUPERVISORS
                        + ", \"topologies\": [{\"id\": \"t-1\", \"workers\": 2, \"executors\": [[1, 1], [2, 3], [4, 4]]}]}");
    }

    @Test
    void defaultFreesUnevenSlots() throws Exception {
        assertAnswer("{\"assignments\": {\"t-1\": {\"1-1\": [\"n1\", 6700], \"2-2\": [\"n2\", 6700]}}}",
                "{\"scheduler\": \"default\", " + SUPERVISORS
                        + ", \"topologies\": [{\"id\": \"t-1\", \"workers\": 2, \"executors\": [[1, 1], [2, 2]],"
                        + " \"assignment\": {\"1-1\": [\"n1\", 6701], \"2-2\": [\"n1\", 6701]}}]}");
    }

    @Test
    void aLineThatCannotBeUsedGetsAnError() throws Exception {
        assertTrue(new EvenSchedulerPeer().answer("{}").contains("error"));
        assertTrue(new EvenSchedulerPeer().answer("no json").contains("error"));
    }
}
