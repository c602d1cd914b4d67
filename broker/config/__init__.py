"""Options: one table, many sources."""
