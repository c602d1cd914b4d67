"""Consumer groups of KIP-848, as their records say; loaded with the first of them."""
