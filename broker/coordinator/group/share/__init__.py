"""Share groups (KIP-932): decisions about members; loaded with the first of them."""
