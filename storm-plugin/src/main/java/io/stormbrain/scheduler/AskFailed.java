package io.stormbrain.scheduler;

/** The brain gave no usable answer; the message is meant for the operator. */
final class AskFailed extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean refused;

    private AskFailed(String message, boolean refused, Throwable cause) {
        super(message, cause);
        this.refused = refused;
    }

    /** The brain is not there, or not in time. */
    static AskFailed unreachable(String message, Throwable cause) {
        return new AskFailed(message, false, cause);
    }

    /** The brain is there and said no. */
    static AskFailed refused(String message, Throwable cause) {
        return new AskFailed(message, true, cause);
    }

    /** How a status line begins: "brain refuses" or "brain unreachable". */
    String headline() {
        return refused ? "brain refuses" : "brain unreachable";
    }
}
