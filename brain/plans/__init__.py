"""Plans in ZooKeeper: their bytes, the store, and who may write (leader election)."""
