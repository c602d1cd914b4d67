"""Requests that make, describe and delete topics."""
