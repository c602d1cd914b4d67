"""The tables of the options that there are, ours and Kafka's. Needs nothing."""
