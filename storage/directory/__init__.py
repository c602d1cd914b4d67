"""Log directories and all logs in them: opened, moved, deleted, checkpointed."""
