"""Who syncs the logs, and when it is done: the committer and its ways to sync."""
