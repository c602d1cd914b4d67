"""The data pipeline on Spark: topics become tables, and tables become topics."""
