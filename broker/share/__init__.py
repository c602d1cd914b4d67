"""Share groups (KIP-932): consumers are handed records, as of a queue."""
