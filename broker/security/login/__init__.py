"""Logins by SASL: from the first frame of a connection to the name of its user."""
