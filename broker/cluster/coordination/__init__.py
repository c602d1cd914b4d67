"""What coordinators of different brokers ask of each other."""
