"""Requests of groups and of their committed offsets."""
