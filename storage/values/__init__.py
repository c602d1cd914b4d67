"""Plain values of a log: options, reads, offsets, file names. Needs files only."""
