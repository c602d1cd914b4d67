"""What a test waits for: conditions, and who tells them that something has changed."""
