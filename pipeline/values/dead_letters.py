"""Records that cannot be decoded: kept as they came, with the reason.

They go to a table of their own, so that one bad record never stops a partition; a job
that mostly fails is stopped, because then its settings are wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import TooManyDeadLetters

if TYPE_CHECKING:
    import pyarrow

REASON = "reason"
COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")
HEADERS = "headers"
# The ratio says nothing about fewer records than this; it is taken over the last ones.
COUNT_MIN = 100
COUNT_MAX = 100_000


def dead_letter_schema(records: pyarrow.Schema) -> pyarrow.Schema:
    """The columns of a dead letter: those of its record, and ``reason``."""
    import pyarrow as pa

    names = [*COLUMNS, *([HEADERS] if HEADERS in records.names else [])]
    return pa.schema([*(records.field(name) for name in names), (REASON, pa.string())])


class DeadLetterLimit:
    """How many of the last records may be dead letters: ``ratio_max`` of them."""

    def __init__(self, ratio_max: float) -> None:
        self._ratio_max = ratio_max
        self._count = 0.0
        self._dead_count = 0.0

    def add(
        self, row_count: int, dead_letter_count: int, first_failure: str | None
    ) -> None:
        """Count a batch, which is not yet committed.

        Raises:
            TooManyDeadLetters: most of what was read lately cannot be decoded.
        """
        if self._count > COUNT_MAX:
            self._count, self._dead_count = self._count / 2, self._dead_count / 2
        self._count += row_count + dead_letter_count
        self._dead_count += dead_letter_count
        if self._count < COUNT_MIN:
            return
        if self._dead_count > self._ratio_max * self._count:
            raise TooManyDeadLetters(
                f"{self._dead_count:.0f} of the last {self._count:.0f} records cannot "
                f"be decoded (dlq_max_ratio is {self._ratio_max:g}); the first: "
                f"{first_failure or 'unknown'}. Nothing of this batch was "
                "committed; mend [value] in the job file, or raise dlq_max_ratio"
            )
