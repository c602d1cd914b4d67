"""Decisions on committed offsets. Over group.state."""
