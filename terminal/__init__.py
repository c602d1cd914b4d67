"""A command and its person: arguments, examples, failures, tables, progress, pipes."""
