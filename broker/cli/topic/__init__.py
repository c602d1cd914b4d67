"""``odradek topic``: topics are made, shown, changed, deleted. Over the wire only."""
