package io.stormbrain.peer;

import io.stormbrain.common.BrainAddress;
import io.stormbrain.common.BrainConfig;
import io.stormbrain.common.BrainConnection;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The plugin's own way to a brain, as a filter: a configuration a line in ({@code key=value;key=value}, with
 * {@code brain.scheduler.address}), and {@code ok <brain>} or {@code failed <words>} a line out.
 */
public final class BrainPeer {
    private BrainPeer() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> conf = new HashMap<>();
            for (String pair : line.split(";")) {
                int equals = pair.indexOf('=');
                conf.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
            System.out.println(call(conf));
        }
    }

    private static String call(Map<String, Object> conf) {
        BrainConfig config = BrainConfig.from(conf);
        BrainAddress address = config.addresses().get(0);
        try (BrainConnection connection = BrainConnection.to(address, config, 5000, 5000)) {
            connection.open();
            return "ok " + connection.client().status("").getBrain();
        } catch (Exception e) {
            return ("failed " + e.getMessage()).replaceAll("\\s+", " ");
        }
    }
}
