"""What a log is made of on this disk: segments, epochs, watermarks, quarantine."""
