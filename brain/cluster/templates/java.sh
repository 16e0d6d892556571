#!/bin/sh
# The supervisors' "java". Storm starts a LogWriter JVM beside each worker, only to copy the
# worker's output into a log. Here the output goes to a file, and the second JVM is spared.
JAVA_HOME='@JAVA_HOME@'
export JAVA_HOME
for argument; do
  if [ "$argument" = org.apache.storm.LogWriter ]; then
    while [ "$1" != org.apache.storm.LogWriter ]; do shift; done
    shift 2
    out=/dev/null
    if [ -d artifacts ]; then out=artifacts/worker.out; fi
    exec '@JAVA@' "$@" >>"$out" 2>&1
  fi
done
exec '@JAVA@' "$@"
