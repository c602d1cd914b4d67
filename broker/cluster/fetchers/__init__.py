"""The leaders of partitions of which this broker has a copy, and how it follows."""
