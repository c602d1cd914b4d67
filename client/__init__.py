"""A small blocking Kafka client, for the command line and the pipeline."""
