"""A command and its person: arguments, failures, tables, colours, progress, pipes."""
