"""``odradek config``: options are shown and changed. Over the wire only."""
