"""Tables with the last row of each key, as compacted topics have the last record."""
