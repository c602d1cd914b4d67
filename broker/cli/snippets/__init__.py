"""What to paste into a client, so that it connects: for each kind of client."""
