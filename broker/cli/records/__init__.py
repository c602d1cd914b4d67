"""``odradek produce`` and ``consume``: records as text. Over the wire only."""
