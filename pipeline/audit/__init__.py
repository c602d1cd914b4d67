"""The audit of a data directory. Over segments; Spark does the reading."""
