"""What the brain knows of the cluster: the latest snapshot, and sliding windows of reports."""
