"""One handler per API, registered where it is written."""
