"""The last offset of each group and partition, found in many batches at once.

``speedups_commits.c`` finds them, or ``plain.latest_commits`` where it was not built.
"""

from .plain.latest_commits import COMMIT_COLUMNS

try:
    from .speedups import latest_commits
except ImportError:  # installed where there was no compiler
    from .plain.latest_commits import latest_commits

__all__ = ["COMMIT_COLUMNS", "latest_commits"]
