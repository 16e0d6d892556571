package io.stormbrain.scheduler;

/** Exceptions in the few words that fit a status line. */
final class Words {
    private static final int MOST = 300;

    private Words() {
    }

    /** The message of the deepest cause that has one, else its class name. */
    static String of(Throwable error) {
        String words = error.getClass().getSimpleName();
        int depth = 0;
        for (Throwable cause = error; cause != null && depth < 10; cause = cause.getCause(), depth++) {
            if (cause.getMessage() != null && !cause.getMessage().isBlank()) {
                words = cause.getMessage();
            }
        }
        String line = words.replaceAll("\\s+", " ").trim();
        return line.length() > MOST ? line.substring(0, MOST) + "…" : line;
    }
}
