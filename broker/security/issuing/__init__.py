"""Certificates of our own making: a CA, and what it issues to brokers and clients."""
