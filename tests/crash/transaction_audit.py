"""What became of transactions, read from the broker and held against who wrote them.

`Written` is the producer's account. Two readers must confirm it: the committed one,
by Fetch with its list of aborted transactions, as clients do it; and one of the whole
log, which sees where each transaction ends and under which epoch.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.record_batch import BatchHeader, scan
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.async_link import AsyncLink
from tests.fakes.transactional_client import SECOND
from tests.patience import PATIENCE_S

FETCH_VERSION = 12
UNCOMMITTED, COMMITTED = 0, 1
NO_OFFSET = -1


@dataclass
class Written:
    """One transaction, as its producer knows it."""

    producer: str
    number: int
    protocol: int
    producer_id: int
    epoch: int
    values: dict[TopicPartition, list[bytes]] = field(default_factory=dict)
    offset: int | None = None  # of the group, in the first partition
    is_committed: bool | None = False  # None: its producer does not know

    @property
    def group(self) -> str:
        """The group whose offsets it moves."""
        return f"group-of-{self.producer}"

    @property
    def name(self) -> str:
        """Unique, and the beginning of all its values."""
        return f"{self.producer}:{self.number}"

    def next_values(self, place: TopicPartition, count: int) -> list[bytes]:
        """So many more values for a partition."""
        values = self.values.setdefault(place, [])
        begin = len(values)
        values += [f"{self.name}:{begin + i}".encode() for i in range(count)]
        return values[begin:]


class Batch(NamedTuple):
    """One batch of a log: records, or the end of a transaction."""

    header: BatchHeader
    values: list[bytes]
    is_commit: bool | None = None

    @property
    def name(self) -> str:
        """Which transaction it belongs to."""
        return self.values[0].decode().rpartition(":")[0]


class PartitionRead(NamedTuple):
    """All of a partition, up to the last stable offset or to the end."""

    batches: list[Batch]
    aborted: list[tuple[int, int]]  # producer id and first offset, by first offset
    high_watermark: int
    last_stable_offset: int


async def read(address: str, place: TopicPartition, isolation: int) -> PartitionRead:
    """Fetch everything there is."""
    link = await AsyncLink.open(address, "audit")
    batches: list[Batch] = []
    aborted: set[tuple[int, int]] = set()
    offset = 0
    try:
        while True:
            found = await _fetch(link, place, offset, isolation)
            aborted.update(
                (each.producer_id, each.first_offset)
                for each in found.aborted_transactions or ()
            )
            new = [each for each in _batches(found.records or b"", offset)]
            batches += new
            if not new:
                return PartitionRead(
                    batches,
                    sorted(aborted, key=lambda each: each[1]),
                    found.high_watermark,
                    found.last_stable_offset,
                )
            offset = new[-1].header.next_offset
    finally:
        await link.close()


async def _fetch(
    link: AsyncLink, place: TopicPartition, offset: int, isolation: int
) -> Any:
    partition = FetchPartition(
        partition=place.partition, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=isolation,
        topics=[FetchTopic(topic=place.topic, partitions=[partition])],
    )
    answer = await link.request(request, FETCH_VERSION)
    found = answer.responses[0].partitions[0]
    assert found.error_code == 0, ErrorCode(found.error_code).name
    return found


def _batches(data: Any, offset: int) -> Iterator[Batch]:
    data = memoryview(data)
    for position, header in scan(data):
        if header.last_offset < offset:
            continue
        batch = data[position : position + header.size]
        if header.is_control:
            marker = read_marker(batch)
            assert marker is not None
            yield Batch(header, [], marker.is_commit)
        else:
            yield Batch(header, [bytes(each.value or b"") for each in iterate(batch)])


def committed_values(found: PartitionRead) -> list[bytes]:
    """What a consumer with ``read_committed`` gives its application."""
    values: list[bytes] = []
    waiting = list(found.aborted)
    aborted: set[int] = set()
    for batch in found.batches:
        while waiting and waiting[0][1] <= batch.header.last_offset:
            aborted.add(waiting.pop(0)[0])
        if batch.is_commit is not None:
            aborted.discard(batch.header.producer_id)
        elif not (
            batch.header.is_transactional and batch.header.producer_id in aborted
        ):
            values += batch.values
    return values


async def settled(address: str, places: Iterable[TopicPartition]) -> str | None:
    """Wait until nothing is open any more; what still is after a while."""
    for place in places:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = await read(address, place, UNCOMMITTED)
            if found.last_stable_offset == found.high_watermark:
                break
            if time.monotonic() > deadline:
                left = [each for each in found.batches if each.header.last_offset]
                first = [
                    each
                    for each in left
                    if each.header.base_offset == found.last_stable_offset
                ]
                return f"{place}: {found[2:]} open: {first}"
    return None


async def audit(
    address: str, places: Sequence[TopicPartition], written: Sequence[Written]
) -> list[str]:
    """Everything that is wrong; empty when nothing is."""
    left_open = await settled(address, places)
    wrong = [left_open] if left_open else []
    visible = {
        place: committed_values(await read(address, place, COMMITTED))
        for place in places
    }
    _find_outcomes(visible.values(), written)
    for place in places:
        wrong += _wrong_values(place, visible[place], written)
        log = await read(address, place, UNCOMMITTED)
        wrong += _wrong_ends(place, log.batches, {each.name: each for each in written})
    expected = {
        each.group: each.offset
        for each in written
        if each.is_committed and each.offset is not None
    }
    for group in sorted({each.group for each in written}):
        offset = await committed_offset(address, group, places[0])
        if offset != expected.get(group, NO_OFFSET):
            wrong.append(f"{group}: {offset}, not {expected.get(group)}")
    return wrong


def _find_outcomes(
    visible: Iterable[Sequence[bytes]], written: Sequence[Written]
) -> None:
    """Of what nobody knows: committed is what has left any trace."""
    seen = {value.decode().rpartition(":")[0] for values in visible for value in values}
    for each in written:
        if each.is_committed is None:
            each.is_committed = each.name in seen


async def committed_offset(
    address: str, group: str, place: TopicPartition
) -> int | None:
    """Where a group is, once no transaction can change that any more; None: never."""
    wanted = OffsetFetchRequestTopics(
        name=place.topic, partition_indexes=[place.partition]
    )
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=[wanted])],
        require_stable=True,
    )
    link = await AsyncLink.open(address, "audit")
    deadline = time.monotonic() + PATIENCE_S
    try:
        while True:
            answer = await link.request(request, 8)
            if answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR:
                return NO_OFFSET  # there is no topic for offsets yet
            found = answer.groups[0].topics[0].partitions[0]
            if not found.error_code:
                return int(found.committed_offset)
            assert found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT, found
            if time.monotonic() > deadline:
                return None
    finally:
        await link.close()


def _wrong_values(
    place: TopicPartition, visible: Sequence[bytes], written: Sequence[Written]
) -> Iterator[str]:
    """Each transaction whole, once and in the order of its producer, or not at all."""
    seen: dict[str, list[bytes]] = defaultdict(list)
    order: dict[str, list[int]] = defaultdict(list)
    for value in visible:
        producer, number, _ = value.decode().split(":")
        name = f"{producer}:{number}"
        if not seen[name]:
            order[producer].append(int(number))
        seen[name].append(value)
    for each in written:
        expected = each.values.get(place, []) if each.is_committed else []
        if seen[each.name] != expected:
            yield f"{place}: {each} is read as {seen[each.name]}"
    for producer, numbers in order.items():
        if numbers != sorted(numbers):
            yield f"{place}: {producer} committed in the order {numbers}"


def _wrong_ends(
    place: TopicPartition, batches: Sequence[Batch], written: dict[str, Written]
) -> Iterator[str]:
    """No end of another's transaction, no record under another's epoch."""
    open_: dict[int, list[Batch]] = defaultdict(list)
    epochs: dict[int, int] = {}
    for batch in batches:
        header = batch.header
        if header.producer_epoch < epochs.get(header.producer_id, -1):
            yield f"{place}: the epoch goes back at {header}"
        epochs[header.producer_id] = header.producer_epoch
        if batch.is_commit is None:
            own = written[batch.name]
            if (own.producer_id, own.epoch) != header[9:11]:
                yield f"{place}: {own} wrote {header}"
            open_[header.producer_id].append(batch)
            continue
        ended = open_.pop(header.producer_id, [])
        names = {each.name for each in ended}
        if len(names) > 1:
            yield f"{place}: one marker ends {names}"
        for own in (written[name] for name in names):
            if own.is_committed is not batch.is_commit or not _is_epoch_right(
                own, header.producer_epoch
            ):
                yield f"{place}: {own} has the marker {header}, {batch.is_commit}"
    for left in open_.values():
        yield f"{place}: open to the end: {left[0].name}"


def _is_epoch_right(own: Written, epoch: int) -> bool:
    """The first version ends under the own epoch, or by a fence; the second bumps."""
    if own.protocol == SECOND or (epoch > own.epoch and not own.is_committed):
        return epoch == own.epoch + 1
    return epoch == own.epoch
