"""Decisions on members of classic groups: join, sync, leave. Over group.state."""
