"""``odradek quota``: what clients may take. Over the wire only."""
