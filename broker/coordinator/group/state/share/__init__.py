"""Share groups of KIP-932, as their records say; loaded with the first of them."""
