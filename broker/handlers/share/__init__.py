"""Records of share groups (KIP-932): handed out, and what became of them."""
