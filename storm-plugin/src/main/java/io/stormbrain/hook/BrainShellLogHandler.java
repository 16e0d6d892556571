package io.stormbrain.hook;

import org.apache.storm.task.TopologyContext;
import org.apache.storm.utils.DefaultShellLogHandler;
import org.apache.storm.utils.ShellProcess;

/**
 * Storm's own log handler for multilang components, which besides notes the subprocess of each task. It is the one place
 * where Storm shows a task together with its subprocess. Installed by {@code topology.multilang.log.handler}; without it
 * the hook matches subprocesses by their command lines and can only tell components apart, not the tasks of one.
 */
public final class BrainShellLogHandler extends DefaultShellLogHandler {
    @Override
    public void setUpContext(Class<?> ownerCls, ShellProcess process, TopologyContext context) {
        super.setUpContext(ownerCls, process, context);
        if (process != null && process.getPid() != null && context != null) {
            ShellProcesses.of(context).put(context.getThisTaskId(), process.getPid().longValue());
        }
    }
}
