"""One request is watched on its way through the running broker."""
