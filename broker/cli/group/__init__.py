"""``odradek group``: groups, their lag, their offsets. Over the wire only."""
