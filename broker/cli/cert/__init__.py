"""``odradek cert``: certificates of brokers."""
