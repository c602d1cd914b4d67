"""Tables that jobs append to: Delta, Iceberg, Parquet, and their commits."""
