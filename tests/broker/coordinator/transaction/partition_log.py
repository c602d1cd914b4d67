"""A partition as far as transactions know it: data, markers, and who may write."""

from typing import NamedTuple

from odradek.protocol.errors import ErrorCode

Identity = tuple[int, int]


class Entry(NamedTuple):
    """Data of the transaction ``token``; or a marker, which has none."""

    producer: Identity
    token: int | None
    is_commit: bool = False


class PartitionLog:
    """A log of data and markers that checks producers as a partition does."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.durable = 0

    def epoch_of(self, producer_id: int) -> int:
        epochs = [e.producer[1] for e in self.entries if e.producer[0] == producer_id]
        return epochs[-1] if epochs else -1

    def marker_count(self, producer_id: int) -> int:
        return sum(
            e.token is None and e.producer[0] == producer_id for e in self.entries
        )

    def is_open_at(self, producer: Identity) -> bool:
        is_open = producer[0] in self.open_tokens()
        return is_open and self.epoch_of(producer[0]) == producer[1]

    def open_tokens(self) -> dict[int, set[int]]:
        """By producer id, what is not ended."""
        tokens: dict[int, set[int]] = {}
        for (producer_id, _), token, _ in self.entries:
            if token is None:
                tokens.pop(producer_id, None)
            else:
                tokens.setdefault(producer_id, set()).add(token)
        return tokens

    def append_data(self, producer: Identity, token: int, guard: int | None) -> int:
        """The code. ``guard``: markers counted when the producer was verified."""
        if producer[1] < self.epoch_of(producer[0]):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if not self.is_open_at(producer) and guard != self.marker_count(producer[0]):
            return ErrorCode.INVALID_TXN_STATE
        self.entries.append(Entry(producer, token))
        return ErrorCode.NONE

    def append_marker(self, producer: Identity, is_commit: bool) -> int | None:
        """Where it is; None when a higher epoch is there."""
        if producer[1] < self.epoch_of(producer[0]):
            return None
        self.entries.append(Entry(producer, None, is_commit))
        return len(self.entries) - 1

    def outcomes(self, count: int) -> dict[int, set[bool]]:
        """How each transaction ended in the first ``count`` entries."""
        found: dict[int, set[bool]] = {}
        pending: dict[int, set[int]] = {}
        for (producer_id, _), token, is_commit in self.entries[:count]:
            if token is not None:
                pending.setdefault(producer_id, set()).add(token)
                continue
            for ended in pending.pop(producer_id, ()):
                found.setdefault(ended, set()).add(is_commit)
        return found
