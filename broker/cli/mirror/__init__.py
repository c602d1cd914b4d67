"""``odradek mirror``: topics of another cluster, copied as they are."""
