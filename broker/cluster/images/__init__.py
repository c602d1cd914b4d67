"""What the quorum has decided, as an image, and what of it is done here."""
