package io.stormbrain.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class WorkerIdentityTest {
    private static final String COMMAND = "org.apache.storm.daemon.worker.Worker words-1-17 node-a 6628 6700 2fc9-worker";

    @Test
    void theSupervisorIdComesFromTheCommandLine() {
        assertEquals("node-a", WorkerIdentity.nodeFromCommand(COMMAND, "words-1-17", 6700));
    }

    @Test
    void anotherProcessIsNotTakenForTheWorker() {
        assertNull(WorkerIdentity.nodeFromCommand(COMMAND, "other-2-18", 6700));
        assertNull(WorkerIdentity.nodeFromCommand(COMMAND, "words-1-17", 6701));
        assertNull(WorkerIdentity.nodeFromCommand("org.example.Main words-1-17 a 1 6700 b", "words-1-17", 6700));
        assertNull(WorkerIdentity.nodeFromCommand("", "words-1-17", 6700));
    }

    @Test
    void withoutOneTheHostStandsIn() {
        WorkerIdentity identity = WorkerIdentity.of(new Worker(6700).context(2), 1700000000000L);
        assertEquals(identity.host(), identity.node());
        assertEquals("6700-loyw3v28", identity.worker());
    }
}
