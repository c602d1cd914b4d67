"""The composition root: makes the parts of a broker, starts and stops them."""
