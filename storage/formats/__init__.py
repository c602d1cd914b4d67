"""Layouts of the side files: pure values and bytes, no I/O."""
