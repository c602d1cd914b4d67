"""``odradek profile``: clusters that are known by name. No broker is asked."""
