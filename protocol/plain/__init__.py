"""What the C functions do, in Python: where they were not built, and to read."""
