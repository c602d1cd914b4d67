"""``odradek token``: logins that are lent. Over the wire only."""
