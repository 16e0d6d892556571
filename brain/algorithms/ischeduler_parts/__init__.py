"""The steps of I-Scheduler: partition, fuse, first level, mapping."""
