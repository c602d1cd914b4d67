"""Requests about who is who, and who may do what."""
