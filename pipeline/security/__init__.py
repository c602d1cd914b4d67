"""How driver and tasks get in at the brokers, and what is said of it."""
