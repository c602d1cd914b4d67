"""Streams groups of KIP-1071: what applications of Kafka Streams ask, and are told."""
