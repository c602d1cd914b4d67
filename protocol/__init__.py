"""The Kafka wire protocol and record format: bytes to values and back, no I/O."""
