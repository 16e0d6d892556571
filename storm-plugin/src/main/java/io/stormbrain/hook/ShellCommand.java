package io.stormbrain.hook;

import java.util.Arrays;
import java.util.List;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.ShellComponent;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.TopologyContext;

/** The command of a multilang component that the topology declares as such (streamparse does). */
record ShellCommand(String command, String script) {

    /** The command of this task's component, or null if it is no declared multilang component. */
    static ShellCommand of(TopologyContext context) {
        StormTopology topology = context.getRawTopology();
        String component = context.getThisComponentId();
        ComponentObject object = null;
        Bolt bolt = topology.get_bolts() == null ? null : topology.get_bolts().get(component);
        SpoutSpec spout = topology.get_spouts() == null ? null : topology.get_spouts().get(component);
        if (bolt != null) {
            object = bolt.get_bolt_object();
        } else if (spout != null) {
            object = spout.get_spout_object();
        }
        if (object == null || !object.is_set_shell()) {
            return null;
        }
        ShellComponent shell = object.get_shell();
        return new ShellCommand(shell.get_execution_command(), shell.get_script());
    }

    /** Whether a process was started by this command: an interpreter may stand before it. */
    boolean started(ProcessHandle process) {
        List<String> words = process.info().arguments().map(Arrays::asList).orElse(List.of());
        String executable = process.info().command().orElse("");
        int at = words.lastIndexOf(script);
        if (at < 0) {
            return false;
        }
        String before = at == 0 ? executable : words.get(at - 1);
        return sameFile(before, command) || sameFile(executable, command);
    }

    private static boolean sameFile(String one, String other) {
        return name(one).equals(name(other));
    }

    private static String name(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
