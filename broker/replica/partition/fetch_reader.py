"""Reads the partitions of one fetch, in the order and within the sizes it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from odradek.protocol.errors import CorruptMessage, ErrorCode, KafkaError
from odradek.protocol.record_batch import scan
from odradek.storage.files.files import ColdRead
from odradek.storage.values.offset_metadata import UNKNOWN_OFFSET, OffsetMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import Buffer, ColdBytes
    from odradek.storage.values.log_read import AbortedTransaction, FetchIsolation

    from .partition import Partition

    Note = Callable[[Sequence["PartitionFetch"], Sequence["FetchResult"]], object]


# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
# In the place of an error: nothing is to be read now, but for where the offsets are.
HELD_BACK: Final = -1_000
_NO_LOG = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class Again(Protocol):
    """A follower's fetch that may have to wait: what it wants is selected once more."""

    @property
    def reads(self) -> Any:
        """What its session reads, as `FollowerReads`."""

    def gathers(self, size: int) -> bool:
        """Whether it waits a moment for more, though there are ``size`` bytes."""

    def select(self) -> Sequence[PartitionFetch]:
        """What is to be read now."""


class FetchParams(NamedTuple):
    """What holds for a fetch as a whole. Sizes are those of the records.

    ``needs_leader``: a replica that only follows does not answer it. ``note`` is told
    what was found at first, of a follower: nothing else counts for it; ``again`` is
    asked what has changed when one in a session has waited.
    """

    isolation: FetchIsolation
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    needs_leader: bool = True
    note: Note | None = None
    again: Again | None = None


class PartitionFetch(NamedTuple):
    """What one fetch wants of one partition; ``refusal`` is its error, found before.

    Or it is `HELD_BACK`.
    """

    topic_partition: TopicPartition
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    refusal: int = ErrorCode.NONE


class FetchResult(NamedTuple):
    """What was read from one partition; -1 for what is not known."""

    error_code: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: Buffer = b""
    aborted: list[AbortedTransaction] | None = None
    diverging_epoch: tuple[int, int] | None = None
    offset_metadata: OffsetMetadata = UNKNOWN_OFFSET

    @property
    def is_final(self) -> bool:
        """Whether waiting for more would change nothing."""
        return bool(self.error_code) or self.diverging_epoch is not None


class FetchReader:
    """The state of one fetch that is being read.

    The first partition with data may give its first batch whatever its size, so
    that every client moves on; all others keep to the limits. One of them is ``share``,
    what this fetch may have of the memory for answers.
    """

    __slots__ = (
        "_find",
        "_has_data",
        "_remaining_bytes",
        "has_final",
        "params",
        "results",
        "size",
        "wanted",
    )

    def __init__(
        self,
        params: FetchParams,
        wanted: Sequence[PartitionFetch],
        find: Callable[[TopicPartition], Partition],
        share: int,
    ) -> None:
        self.results: list[FetchResult] = []
        self.size = 0
        self.has_final = False
        self.params = params
        self.wanted = wanted
        self._find = find
        self._remaining_bytes = min(params.max_bytes, share)

    @property
    def must_answer(self) -> bool:
        """Whether there is enough to answer, or no sense in waiting."""
        return (
            self.has_final
            or not self.wanted
            or self.params.max_wait_ms <= 0
            or self.size >= self.params.min_bytes
        )

    @property
    def may_wait(self) -> bool:
        """Whether waiting would change anything."""
        return not self.has_final and bool(self.wanted) and self.params.max_wait_ms > 0

    def read(self, may_block: bool = False) -> None:
        """Read on; call again with ``may_block`` when the cold bytes are warm.

        Raises:
            ColdRead: the next partition's bytes are not in memory.
        """
        for wanted in self.wanted[len(self.results) :]:
            size_max = self._remaining_bytes
            result = read_partition(
                self._find, self.params, wanted, size_max, not self.size, may_block
            )
            may_block = False  # what was warmed is read
            self.take(result)

    def read_warmed(self, share: int) -> ColdBytes | None:
        """Read on where cold bytes are warm now; returns what else has to be.

        ``share`` is what is left to this fetch by now.
        """
        self._remaining_bytes = min(self._remaining_bytes, share)
        try:
            self.read(may_block=True)
        except ColdRead as cold:
            return cold.bytes
        return None

    def take(self, result: FetchResult) -> None:
        """The next partition has been read."""
        self.results.append(result)
        size = len(result.records)
        if size:
            self.size += size
            self._remaining_bytes = max(0, self._remaining_bytes - size)
        elif result.error_code or result.diverging_epoch is not None:
            self.has_final = True


def read_partition(
    find: Callable[[TopicPartition], Partition],
    params: FetchParams,
    wanted: PartitionFetch,
    size_max: int,
    min_one: bool,
    may_block: bool = False,
) -> FetchResult:
    """What one partition gives, or the error.

    Raises:
        ColdRead: its bytes are not in memory, and ``may_block`` is False.
    """
    topic_partition, offset, max_bytes, epoch, last_fetched_epoch, refusal = wanted
    if refusal:
        if refusal != HELD_BACK:
            return _failed(refusal)
        max_bytes, min_one = 0, False
    try:
        partition = find(topic_partition)
        leadership = partition.leadership
        check = leadership.check if params.needs_leader else leadership.check_replica
        check(epoch)
        log = partition.view.log
        if params.note is not None and log is not None:
            # Of all that a follower follows little has changed since it asked last.
            end = log.reading.end_for_follower(offset, last_fetched_epoch)
            if end is not None:
                offsets = log.visibility.offsets()
                return _new(FetchResult, (0, *offsets, b"", None, None, end))
        diverging = None
        if last_fetched_epoch >= 0:
            diverging = partition.view.diverging_epoch(offset, last_fetched_epoch)
        # Before the read: a reader must not be told that it has seen everything
        # up to a watermark that rose behind what it gets.
        high, stable, start = partition.view.offsets()
        if diverging is not None:
            return FetchResult(
                ErrorCode.NONE, high, stable, start, diverging_epoch=diverging
            )
        place, records, is_incomplete, aborted = partition.view.read(
            offset,
            max_bytes if max_bytes < size_max else size_max,
            params.isolation,
            min_one,
            may_block,
        )
        if params.note is not None and records:
            records = _sound(records, partition.view.damaged_from(offset))
    except KafkaError as error:
        return _failed(error.code)
    if is_incomplete:
        records = b""
    return _new(FetchResult, (0, high, stable, start, records, aborted, None, place))


def _sound(records: Buffer, damaged_from: int | None) -> Buffer:
    """What a follower gets: no empty batch in the place of a damaged one.

    Its copy may be the better one, or another's, and would be lost by that.

    Raises:
        CorruptMessage: there is nothing before the damage.
    """
    if damaged_from is None:
        return records
    for position, header in scan(memoryview(records)):
        if header.next_offset > damaged_from:
            if not position:
                raise CorruptMessage
            return memoryview(records)[:position]
    return records


def _failed(error_code: int) -> FetchResult:
    # As Apache Kafka answers: an empty list where no log was asked, else none.
    return FetchResult(error_code, aborted=[] if error_code in _NO_LOG else None)
