"""``odradek user``: who may log in. Over the wire only."""
