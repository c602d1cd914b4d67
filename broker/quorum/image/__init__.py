"""What a quorum's metadata log says, as one value that changes as a whole."""
