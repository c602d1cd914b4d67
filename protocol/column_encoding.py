"""Records made of columns, as a column store has them: what a load sends.

``speedups_encoding.c`` makes them, or ``plain.column_encoding`` where it was not built.
"""

try:
    from .speedups import encode_columns, place_keys
except ImportError:  # installed where there was no compiler
    from .plain.column_encoding import encode_columns, place_keys

__all__ = ["encode_columns", "place_keys"]
