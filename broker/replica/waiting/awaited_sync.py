"""Appends to any partitions of a directory that wait for its next sync.

A sync is often for many logs with one append each, as that of the offsets which groups
commit: then one list costs less than an operation of the purgatory for each log.

Invariants: who waits here has a partition that is dirty, so the next sync is for it,
too. None is answered before its partition acknowledges it; where that takes more than
the sync, or something is said of the partition before, it waits in the purgatory. There
is no deadline.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.replica.partition.view import Until
from odradek.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition

    from .awaited_appends import AwaitedAppend, AwaitingAppends

# A sync ends or fails; until then nobody knows whether a record will be durable.
NO_TIMEOUT_MS = (1 << 31) - 1

_NONE = int(ErrorCode.NONE)
_REPLICATED = Until.REPLICATED
_logger = logging.getLogger(__name__)


class AwaitedSync:
    """Those that wait for one sync."""

    __slots__ = ("_appends", "_awaiting")

    def __init__(self, awaiting: AwaitingAppends) -> None:
        self._awaiting = awaiting
        self._appends: list[tuple[Partition, AwaitedAppend]] = []

    def add(self, partition: Partition, append: AwaitedAppend) -> None:
        """``append`` waits for the sync, behind those that came before it."""
        self._appends.append((partition, append))
        self._awaiting.waiting.delayed_count += 1

    def release(self) -> None:
        """The sync is over, or there will be none: answer all that may be."""
        taken, self._appends = self._appends, []
        self._answer(taken)

    def hand_over(self, partition: Partition) -> None:
        """Something is to be said of ``partition``: its appends hear of it, too."""
        taken = [each for each in self._appends if each[0] is partition]
        if taken:
            others = [each for each in self._appends if each[0] is not partition]
            self._appends = others
            self._answer(taken)

    def _answer(self, taken: list[tuple[Partition, AwaitedAppend]]) -> None:
        self._awaiting.waiting.delayed_count -= len(taken)
        refused = []
        for partition, append in taken:
            code = partition.view.acknowledgement(append.next_offset, _REPLICATED)
            if code is None:
                self._awaiting.add_alone(partition, append, _REPLICATED, NO_TIMEOUT_MS)
            elif code != _NONE:
                refused.append((append, code))
            else:
                append.is_done = True
                listener = append.listener
                if listener is not None:
                    append.listener = None
                    try:
                        listener(append)
                    except Exception:  # a bug of one is not the others' business
                        _logger.exception("a delayed answer failed")
        for append, code in refused:
            append.answer(code)
