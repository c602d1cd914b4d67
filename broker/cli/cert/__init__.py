"""``odradek cert``: certificates are made, and shown."""
