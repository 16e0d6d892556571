package io.stormbrain.common;

/** ZooKeeper gave no answer in time. */
public final class ZooKeeperAway extends Exception {
    private static final long serialVersionUID = 1L;

    public ZooKeeperAway(String message, Throwable cause) {
        super(message, cause);
    }
}
