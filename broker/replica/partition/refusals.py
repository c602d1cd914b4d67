"""Batches that were not taken: how many, and what was wrong with them.

What is for no partition that there is, or is not one batch, is no request for a
partition: Kafka's ``KafkaApis`` refuses these, and does not count them either.

For who watches the broker; it costs nothing where nothing is refused.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.validation.validator import (
    Flaw,
    NoBatch,
    NotOneBatch,
    RecordValidationError,
)

if TYPE_CHECKING:
    from .partition import Partition

_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_BEFORE_LOG = (NotOneBatch, NoBatch)
# What a client does wrong in ordinary life, and puts right: no failure of a request.
# A disk that fails is one: Kafka takes its directory offline, and does not count it.
_EXPECTED = (
    *_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
)


class Refused:
    """What was refused of one partition; ``failed_count`` of it for no usual reason."""

    __slots__ = ("count", "failed_count", "rejected_bytes")

    def __init__(self) -> None:
        self.count = self.failed_count = self.rejected_bytes = 0

    def note(self, size: int, error: KafkaError) -> None:
        """A batch of ``size`` bytes was refused."""
        self.count += 1
        if error.code in _TOO_LARGE:
            self.rejected_bytes += size
        if error.code not in _EXPECTED:
            self.failed_count += 1


class Refusals:
    """All refused batches: each with its partition, and what is wrong with them.

    ``flaws`` says how many batches had each, ``keyless_count`` the records without the
    key that they need.
    """

    def __init__(self) -> None:
        self.flaws: Counter[Flaw] = Counter()
        self.keyless_count = 0

    def note(self, found: Partition, size: int, error: KafkaError) -> None:
        """A batch for ``found`` was refused."""
        if not isinstance(error, _BEFORE_LOG):
            if found.refused is None:
                found.refused = Refused()
            found.refused.note(size, error)
        flaw: Flaw | None = getattr(error, "flaw", None)
        if flaw is not None:
            self.flaws[flaw] += 1
        if isinstance(error, RecordValidationError):
            self.keyless_count += error.keyless_count
