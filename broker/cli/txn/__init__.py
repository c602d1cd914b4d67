"""``odradek txn``: transactions are shown and aborted. Over the wire only."""
