"""Who shall read what: the target of a group, and the topics that patterns match."""
