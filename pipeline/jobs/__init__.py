"""What exports and sinks share: batches become commits, each once."""
