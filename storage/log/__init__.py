"""One log: what may be appended, read, cut, replaced. Owns local and producers."""
