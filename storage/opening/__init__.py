"""A log is opened: as it was left, or put in order after what happened to it."""
