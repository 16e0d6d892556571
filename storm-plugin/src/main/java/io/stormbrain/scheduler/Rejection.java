package io.stormbrain.scheduler;

import io.stormbrain.thrift.PlanRejection;

/** Why a plan is not applied. Goes to the log, to Storm's UI and, with the next snapshot, to the brain. */
record Rejection(String topologyId, long epoch, Code code, String message) {

    /** The codes of the IDL. */
    enum Code {
        TOPOLOGY_GONE("topology-gone"),
        EXECUTOR_SET("executor-set"),
        DEAD_SLOT("dead-slot"),
        SHARED_SLOT("shared-slot"),
        STALE_EPOCH("stale-epoch"),
        OTHER_BASE("other-base"),
        WORKERS("workers"),
        DIGEST("digest"),
        UNREADABLE("unreadable"),
        UNREACHABLE("unreachable"),
        ZOOKEEPER("zookeeper");

        private final String wireName;

        Code(String wireName) {
            this.wireName = wireName;
        }

        String wireName() {
            return wireName;
        }
    }

    PlanRejection toThrift() {
        return new PlanRejection(topologyId, epoch, code.wireName(), message);
    }

    @Override
    public String toString() {
        return code.wireName() + ": " + message;
    }
}
