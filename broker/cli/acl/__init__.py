"""``odradek acl``: who may do what, on any Kafka cluster."""
