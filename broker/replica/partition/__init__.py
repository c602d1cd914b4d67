"""One partition: its log, its state, its reads. Knows nobody who waits for it."""
