"""The metadata log of an Apache Kafka quorum, followed as an observer, or on a disk."""
