"""The records of many batches at once, column by column: what a column store takes.

``speedups_columns.c`` fills the columns, or ``record_columns_plain`` where it was not
built. All of them are a caller's buffers of int64, so that numpy may own them.
"""

from .record_columns_plain import GATHERED_SIZE_MAX, HEADER_COLUMNS, RECORD_COLUMNS

try:
    from .speedups import gather, walk_headers, walk_records
except ImportError:  # installed where there was no compiler
    from .record_columns_plain import gather, walk_headers, walk_records

__all__ = [
    "GATHERED_SIZE_MAX",
    "HEADER_COLUMNS",
    "RECORD_COLUMNS",
    "gather",
    "walk_headers",
    "walk_records",
]
