"""Which batches a reader of committed records is to see, in the order of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from odradek.protocol.control_records import ControlType, read_marker
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import CONTROL, TRANSACTIONAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .sound_batches import SoundBatches


class Aborted(Protocol):
    """A transaction that was aborted, as a broker's answer names it."""

    @property
    def producer_id(self) -> int:
        """Whose it was."""

    @property
    def first_offset(self) -> int:
        """The offset of its first record in the partition."""


class CommittedFilter:
    """Knows which producers are in the middle of a transaction that was aborted.

    A transaction is aborted from its first offset up to its producer's abort marker.
    """

    def __init__(self, aborted: Sequence[Aborted]) -> None:
        found = {(each.first_offset, each.producer_id) for each in aborted}
        self._waiting = sorted(found, reverse=True)
        self._aborting: set[int] = set()

    def passes(self, batches: SoundBatches) -> np.ndarray:
        """For each batch whether its records are committed."""
        passes = np.ones(batches.length, bool)
        if not self._waiting and not self._aborting:
            return passes
        attributes = batches.attributes
        for place in np.nonzero(attributes & TRANSACTIONAL)[0].tolist():
            header = batches.header(place)
            while self._waiting and self._waiting[-1][0] <= header.last_offset:
                self._aborting.add(self._waiting.pop()[1])
            if header.producer_id not in self._aborting:
                continue
            if not attributes[place] & CONTROL:
                passes[place] = False
            elif _is_abort(batches.batch(place)):
                self._aborting.discard(header.producer_id)
        return passes


def _is_abort(batch: memoryview) -> bool:
    try:
        marker = read_marker(batch)
    except KafkaError:
        return False
    return marker is not None and marker.control_type is ControlType.ABORT
