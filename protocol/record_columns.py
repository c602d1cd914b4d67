"""The records of many batches at once, column by column: what a column store takes.

``speedups_columns.c`` fills the columns, or ``plain.record_columns`` where it was not
built. All of them are a caller's buffers of int64, so that numpy may own them.
"""

from .plain.record_columns import GATHERED_SIZE_MAX, HEADER_COLUMNS, RECORD_COLUMNS

try:
    from .speedups import gather, walk_headers, walk_records
except ImportError:  # installed where there was no compiler
    from .plain.record_columns import gather, walk_headers, walk_records

__all__ = [
    "GATHERED_SIZE_MAX",
    "HEADER_COLUMNS",
    "RECORD_COLUMNS",
    "gather",
    "walk_headers",
    "walk_records",
]
