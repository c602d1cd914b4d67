"""The catalogue on disk: SQLite with checksums and a second copy."""
