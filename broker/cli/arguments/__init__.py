"""What commands of a cluster have in common: address, times, moments, failures."""
