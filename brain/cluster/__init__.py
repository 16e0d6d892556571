"""A local Storm cluster of real daemons: STORM_HOME from Maven artefacts, processes, state."""
