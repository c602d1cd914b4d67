"""The broker: network, handlers, replicas, metadata and configuration."""
