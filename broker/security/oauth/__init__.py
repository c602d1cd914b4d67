"""Logins by tokens of others (OAUTHBEARER): what they say, and the keys they fit."""
