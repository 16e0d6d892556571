package io.stormbrain.common;

import org.apache.storm.validation.ConfigValidationAnnotations.Password;
import org.apache.storm.validation.Validated;

/**
 * Keys whose values Storm must not log: each daemon writes its whole configuration to its log at the start. Storm finds
 * this class through META-INF/services. Nothing is validated here, because a value that Storm finds invalid would keep
 * Nimbus from starting.
 */
public final class SecretKeys implements Validated {
    @Password
    public static final String TOKEN = BrainConfig.TOKEN;

    @Password
    public static final String ZOOKEEPER_AUTH = BrainConfig.ZOOKEEPER_AUTH;

    private SecretKeys() {
    }
}
