"""Reading records from the leaders of partitions.

A leader that has moved, a broker that restarts and a connection that was lost are
tried again until the cluster's time is over; everything else is raised at once, with
the partition in its message. Topics are called by their ids where the broker knows
ids (from version 13 on), so that a topic that was deleted and created again is never
taken for the one before.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaError,
    KafkaStorageError,
    LeaderNotAvailable,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    OffsetOutOfRange,
    ReplicaNotAvailable,
    UnknownLeaderEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID

from .errors import TopicReplaced, error_of, raise_for
from .list_offsets import READ_COMMITTED, READ_UNCOMMITTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .cluster import Cluster, Pending
    from .metadata import Metadata

_LAST_VERSION_WITH_NAMES = 12
_SETTLE_S = 3.0
_PASSING = (
    FencedLeaderEpoch,
    KafkaStorageError,
    LeaderNotAvailable,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    ReplicaNotAvailable,
    UnknownLeaderEpoch,
    UnknownTopicId,
    ConnectionError,
)
_PREFIX = Struct(">qi11xi")  # base offset, length, last offset delta
_LOG_OVERHEAD = 12


class Fetched(NamedTuple):
    """What one fetch returned of one partition.

    ``records`` are whole batches, of which the first may begin before the offset that
    was asked for and the last may be cut short. ``aborted`` is empty for who reads
    uncommitted records too.
    """

    place: TopicPartition
    records: memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...]

    def next_offset(self, fetch_offset: int) -> int:
        """Where to go on; ``fetch_offset`` itself when nothing came."""
        return max(fetch_offset, end_of(self.records))


class FetchLimits(NamedTuple):
    """How much an answer may carry, and how long it may wait for the least of it."""

    max_bytes: int = 1 << 20
    min_bytes: int = 1
    max_wait_ms: int = 500


DEFAULT_LIMITS = FetchLimits()


class Fetcher:
    """Fetches from the brokers of one cluster; blocking, for one thread."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        committed: bool = False,
        topic_ids: Mapping[str, bytes] | None = None,
    ) -> None:
        """Topics in ``topic_ids`` are expected to have these ids."""
        self.cluster = cluster
        self.committed = committed
        self._expected_ids: dict[str, bytes] = {}
        self._names_of_ids: dict[bytes, str] = {}
        self._names: set[str] = set()  # of topics that will be asked for
        self._metadata: Metadata | None = None
        self.expect(topic_ids or {})

    def expect(self, topic_ids: Mapping[str, bytes]) -> None:
        """Topics must have these ids, if the broker knows ids; zeros are none.

        Raises:
            TopicReplaced: one of them is known to have another.
        """
        self._names.update(topic_ids)
        for name, topic_id in topic_ids.items():
            self._check_id(name, topic_id)

    def fetch(
        self,
        place: TopicPartition,
        offset: int,
        *,
        max_bytes: int = DEFAULT_LIMITS.max_bytes,
        min_bytes: int = DEFAULT_LIMITS.min_bytes,
        max_wait_ms: int = DEFAULT_LIMITS.max_wait_ms,
    ) -> Fetched:
        """Records from ``offset`` on: at least a whole batch, if there is any.

        Raises:
            OffsetOutOfRange: there is no such offset.
            TopicReplaced: the topic of that name is another one now.
            KafkaError, OSError: the partition cannot be read.
        """
        limits = FetchLimits(max_bytes, min_bytes, max_wait_ms)
        return self.fetch_many({place: offset}, limits)[place]

    def fetch_many(
        self,
        offsets: Mapping[TopicPartition, int],
        limits: FetchLimits = DEFAULT_LIMITS,
    ) -> dict[TopicPartition, Fetched]:
        """The same of many partitions; all their leaders are asked at once.

        ``limits`` are those of one answer; a leader that has nothing new answers
        after ``max_wait_ms``.

        Raises:
            As `fetch`.
        """
        return self.cluster.retry.run(
            lambda: self._fetch_once(offsets, limits), self._may_pass
        )

    def read(
        self, place: TopicPartition, start: int, end: int, limits: FetchLimits
    ) -> Iterator[Fetched]:
        """All there is between two offsets of a partition, in order.

        The next piece is on its way while the caller uses the one in hand. It ends
        early with a piece that has no whole batch, as a damaged length makes one.

        Raises:
            OffsetOutOfRange: the log does not begin early enough, or ends before.
            As `fetch`.
        """
        offset, pending = start, self._send_ahead(place, start, limits)
        try:
            while offset < end:
                fetched = self._receive_ahead(pending, place, offset)
                pending = None
                if fetched is None or not fetched.records:
                    fetched = self._fetch_some(place, offset, end, limits)
                next_offset = fetched.next_offset(offset)
                if offset < next_offset < end:
                    rest = _sized(limits, fetched, next_offset - offset, end - offset)
                    pending = self._send_ahead(place, next_offset, rest)
                yield fetched
                if next_offset == offset:
                    return
                offset = next_offset
        finally:
            if pending is not None:
                pending.give_up()

    def _fetch_some(
        self, place: TopicPartition, offset: int, end: int, limits: FetchLimits
    ) -> Fetched:
        """A piece that has records, which may take its time after a restart."""

        def fetch() -> Fetched:
            fetched = self.fetch(place, offset, **limits._asdict())
            if not fetched.records:
                raise _NothingYet(
                    f"{place}: records up to offset {end} were to be read, but from "
                    f"{offset} on there are none; the log ends at "
                    f"{fetched.high_watermark}."
                )
            return fetched

        return self.cluster.retry.run(
            fetch, lambda error: isinstance(error, _NothingYet), _SETTLE_S
        )

    # One request, and its answer

    def _send_ahead(
        self, place: TopicPartition, offset: int, limits: FetchLimits
    ) -> Pending[FetchResponse] | None:
        """None when it cannot be asked now, which is for `fetch` to sort out."""
        try:
            leader = self._known([place.topic]).leader_of(place)
            return self._send({place: offset}, limits, leader)
        except (KafkaError, OSError) as error:
            self._may_pass(error)
            return None

    def _receive_ahead(
        self, pending: Pending[FetchResponse] | None, place: TopicPartition, offset: int
    ) -> Fetched | None:
        if pending is None:
            return None
        try:
            return self._fetched(pending.receive(), {place: offset})[place]
        except (KafkaError, OSError) as error:
            if not self._may_pass(error):
                raise
            return None

    def _fetch_once(
        self, offsets: Mapping[TopicPartition, int], limits: FetchLimits
    ) -> dict[TopicPartition, Fetched]:
        metadata = self._known(sorted({place.topic for place in offsets}))
        led: dict[int, dict[TopicPartition, int]] = {}
        for place, offset in offsets.items():
            led.setdefault(_leader_of(metadata, place), {})[place] = offset
        sent: list[tuple[Pending[FetchResponse], dict[TopicPartition, int]]] = []
        found: dict[TopicPartition, Fetched] = {}
        try:
            for node_id, wanted in led.items():
                sent.append((self._send(wanted, limits, node_id), wanted))
            while sent:
                pending, wanted = sent.pop(0)
                found.update(self._fetched(pending.receive(), wanted))
        finally:
            for pending, _ in sent:
                pending.give_up()
        return found

    def _send(
        self,
        offsets: Mapping[TopicPartition, int],
        limits: FetchLimits,
        node_id: int,
    ) -> Pending[FetchResponse]:
        topics: dict[str, list[FetchPartition]] = {}
        for place, offset in offsets.items():
            asked = FetchPartition(
                partition=place.partition,
                fetch_offset=offset,
                partition_max_bytes=limits.max_bytes,
            )
            topics.setdefault(place.topic, []).append(asked)
        known = self._known(list(topics)).topics
        ids = {name: known[name].topic_id for name in topics}
        request = FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            isolation_level=READ_COMMITTED if self.committed else READ_UNCOMMITTED,
            topics=[
                FetchTopic(topic=name, topic_id=ids[name], partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        has_ids = ZERO_UUID not in ids.values()
        version_max = None if has_ids else _LAST_VERSION_WITH_NAMES
        return self.cluster.send(request, FetchResponse, node_id, version_max)

    def _fetched(
        self, response: FetchResponse, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Fetched]:
        raise_for(response.error_code)
        found: dict[TopicPartition, Fetched] = {}
        for topic in response.responses:
            name = topic.topic or self._names_of_ids[topic.topic_id]
            for each in topic.partitions:
                place = TopicPartition(name, each.partition_index)
                if each.error_code:
                    raise _with_place(error_of(each.error_code), place, offsets[place])
                found[place] = Fetched(
                    place,
                    memoryview(each.records if each.records is not None else b""),
                    each.high_watermark,
                    each.last_stable_offset,
                    each.log_start_offset,
                    tuple(each.aborted_transactions or ()),
                )
        return found

    # What is known of the cluster

    def _known(self, names: list[str]) -> Metadata:
        """The leaders and ids of these topics, asked for when one is not known."""
        known = self._metadata
        if known is None or any(name not in known.topics for name in names):
            before = () if known is None else known.topics
            wanted = sorted({*names, *before, *self._names})
            known = self.cluster.metadata(wanted)
            for name, topic in known.topics.items():
                self._check_id(name, topic.topic_id)
            self._metadata = known
        return known

    def _check_id(self, name: str, topic_id: bytes) -> None:
        if topic_id == ZERO_UUID:
            return
        if self._expected_ids.setdefault(name, topic_id) != topic_id:
            raise TopicReplaced(
                f"Topic {name} was deleted and created again: it is another topic now."
            )
        self._names_of_ids[topic_id] = name

    def _may_pass(self, error: Exception) -> bool:
        """Whether it is worth another try, for which the leaders are asked for anew."""
        self._metadata = None
        return isinstance(error, _PASSING)


class _NothingYet(OffsetOutOfRange):
    """There should be records, and an answer had none."""


def end_of(records: memoryview) -> int:
    """The offset behind the last whole batch; -1 when there is none."""
    position, end, offset = 0, len(records), -1
    while position + _PREFIX.size <= end:
        base_offset, length, last_offset_delta = _PREFIX.unpack_from(records, position)
        position += _LOG_OVERHEAD + length
        if length <= 0 or position > end:
            break
        offset = base_offset + last_offset_delta + 1
    return offset


def _leader_of(metadata: Metadata, place: TopicPartition) -> int:
    try:
        return metadata.leader_of(place)
    except UnknownTopicOrPartition:
        if place.topic in metadata.topics:
            text = metadata.topics[place.topic].lacks(place.partition)
        else:
            text = f"There is no topic {place.topic}."
        raise UnknownTopicOrPartition(text) from None


def _with_place(error: KafkaError, place: TopicPartition, offset: int) -> KafkaError:
    if isinstance(error, OffsetOutOfRange):
        return OffsetOutOfRange(f"{place}: the log has no offset {offset}.")
    return type(error)(f"{place}: {error}")


def _sized(limits: FetchLimits, last: Fetched, count: int, wanted: int) -> FetchLimits:
    """Not much more than what is left to read, if it is like what came last."""
    left = (wanted - count) * len(last.records) // max(count, 1)
    return limits._replace(
        max_bytes=min(limits.max_bytes, left + left // 4 + (64 << 10))
    )
