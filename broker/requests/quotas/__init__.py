"""Quotas, enforced: what clients do, and how long who does too much must wait."""
