"""The streaming job: start, micro-batches, checkpoint, status."""
