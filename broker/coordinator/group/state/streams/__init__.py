"""Streams groups of KIP-1071, as their records say; loaded with the first of them."""
