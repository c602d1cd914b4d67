"""What the broker knows of topics, kept in the catalogue."""
