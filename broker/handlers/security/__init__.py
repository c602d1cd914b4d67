"""Requests about who may do what: answered, though nobody is refused yet."""
