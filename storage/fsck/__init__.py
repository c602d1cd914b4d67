"""Whether a log directory is sound, without changing it: behind ``odradek fsck``."""
