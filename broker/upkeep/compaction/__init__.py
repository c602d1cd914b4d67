"""Which log is compacted, when, and in which process. Over replica."""
