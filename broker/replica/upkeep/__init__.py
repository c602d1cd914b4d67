"""What partitions need beside requests: checkpoints, retention, scrubbing."""
