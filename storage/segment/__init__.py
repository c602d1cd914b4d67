"""One segment: its log file with its indexes, read, written, copied, scrubbed."""
