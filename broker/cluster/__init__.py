"""A broker is one of a cluster whose controllers are Apache Kafka's."""
