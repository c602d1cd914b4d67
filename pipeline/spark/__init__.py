"""The Spark of a command: its session, and what it lacks here."""
