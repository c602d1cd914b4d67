"""From a frame to its handler: contexts, the registry, dispatch, known requests."""
