"""Requests about options, quotas, features and metrics of clients."""
