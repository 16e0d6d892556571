"""The brain as a process: Thrift door, solver process, ZooKeeper, and the loop that joins them."""
