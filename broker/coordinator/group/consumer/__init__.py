"""Decisions on consumer groups (KIP-848); loaded with the first of them."""
