"""Which partition a row goes to: the one it wants, that of its key, or the next one."""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003 - Spark asks for the hints
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odradek.pipeline.records.row_encoding import partitions_of
from odradek.pipeline.workers.garbage_collection import freeze_once

if TYPE_CHECKING:
    from collections.abc import Callable

    Place = Callable[[Iterator[tuple[pa.Array, pa.Array]]], Iterator[pa.Array]]


def placing(count: int) -> Place:
    """Says the partitions, of ``count``, of rows with these keys and wishes.

    For ``arrow_udf``. Each task gives rows without both one partition after the other.
    """

    def place(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        freeze_once()
        turns = Turns(task_number())
        for keys, wanted in batches:
            yield pa.array(turns.place(keys, wanted, count), pa.int32())

    return place


def task_number() -> int:
    """Which of its stage's tasks this one is; 0 outside of Spark."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


class Turns:
    """Places the rows of one task, where those without key and wish take turns."""

    def __init__(self, first: int = 0) -> None:
        self._turn = first

    def place(self, keys: pa.Array, wanted: pa.Array, count: int) -> Any:
        """The partition of each row, of ``count``.

        Raises:
            ValueError: a row wants one that there is not.
        """
        placed = _placed(keys, wanted, count)
        is_free = placed < 0
        free_count = int(is_free.sum())
        placed[is_free] = np.arange(self._turn, self._turn + free_count) % count
        self._turn += free_count
        return placed


def _placed(keys: pa.Array, wanted: pa.Array, count: int) -> Any:
    """The partitions that are wanted, or those of the keys; -1 for neither."""
    placed = partitions_of(keys, count)
    if wanted.null_count == len(wanted):
        return placed
    is_said = wanted.is_valid().to_numpy(zero_copy_only=False)
    said = wanted.fill_null(0).to_numpy()
    wrong = said[(said < 0) | (said >= count)]
    if len(wrong):
        raise ValueError(f"a row wants partition {wrong[0]}; the topic has {count}")
    return np.where(is_said, said, placed)
