"""What commands of a cluster have in common: its address, limits of time, moments."""
