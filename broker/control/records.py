"""Records without a client, as JSON (`protocol/record_json.py`).

``records.append`` (``topic``, ``records``, and ``partition`` of those that name none):
an item for each record, with its ``partition`` and ``offset``. Without a partition a
record goes where Java's client would write its key; those without a key go to one
partition after the other. Nothing is written unless every record can be read.

``records.read`` (``topic``): an item for each record, by partition and offset.
``partition``: of this one alone. ``from``, ``to``: from one offset up to another, which
is not among them. ``last``: so many, the last ones of the topic, in the order of their
time. ``control``, ``aborted``, ``open``: with control records, those of aborted
transactions, those of open ones; ``what`` says which of these a record is.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.control.fields import Fields, refusal
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.murmur2 import partition_of_key
from odradek.protocol.record_json import BadRecord, from_parsed
from odradek.protocol.records import build_batch
from odradek.protocol.topic_partition import TopicPartition

from .reading import Wanted, as_item, last_records, shown_records, visible_end
from .topics import known_topic

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

    from odradek.broker.metadata.topic import Topic
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.broker.replica.partition.view import PartitionView
    from odradek.broker.replica.waiting.delayed_produce import AppendResult
    from odradek.broker.requests.services import Services
    from odradek.protocol.records import NewRecord

    from .reading import Shown


TIMEOUT_MS = 30_000
# What a record, and a batch, take besides keys and values, at the most.
_RECORD_RESERVE, _BATCH_RESERVE = 40, 100


def record_requests(services: Services) -> dict[str, AdminRequest]:
    """What answers each."""

    async def append(request: Request) -> Items:
        fields = Fields(request)
        topic = known_topic(services, fields.text("topic"))
        given = fields.items("records")
        partition = fields.number("partition", None)
        fields.end()
        placed = _placed(topic, given, partition, services.clock.now_ms())
        for place, offset in await _append(services, topic, placed):
            yield {"topic": place.topic, "partition": place.partition, "offset": offset}

    async def read(request: Request) -> Items:
        fields = Fields(request)
        topic = known_topic(services, fields.text("topic"))
        asked = _asked(fields)
        fields.end()
        async for place, shown in _read(services, topic, asked):
            yield as_item(place.topic, place.partition, shown)

    return {"records.append": append, "records.read": read}


# Append


class _Placed(NamedTuple):
    partition: int
    record: NewRecord


def _placed(
    topic: Topic, given: Iterable[Any], partition: int | None, now_ms: int
) -> list[_Placed]:
    """The records, each with its partition."""
    turns = count()
    return [
        _place(topic, each, number, partition, now_ms, turns)
        for number, each in enumerate(given)
    ]


def _place(
    topic: Topic,
    given: Any,
    number: int,
    default: int | None,
    now_ms: int,
    turns: Iterator[int],
) -> _Placed:
    try:
        record, partition = from_parsed(given, now_ms)
    except BadRecord as error:
        raise refusal(f"record {number}: {error}") from None
    partition_count = len(topic.partitions)
    if partition is None:
        partition = default
    if partition is None:
        if record.key is None:
            partition = next(turns) % partition_count
        else:
            partition = partition_of_key(record.key, partition_count)
    if not 0 <= partition < partition_count:
        raise refusal(f"record {number}: {_no_partition(topic, partition)}")
    return _Placed(partition, record)


async def _append(
    services: Services, topic: Topic, placed: Iterable[_Placed]
) -> list[tuple[TopicPartition, int]]:
    """Write the records; the place and offset of each."""
    found: list[tuple[TopicPartition, int] | None] = []
    by_partition: dict[int, list[tuple[int, NewRecord]]] = {}
    for number, (partition, record) in enumerate(placed):
        by_partition.setdefault(partition, []).append((number, record))
        found.append(None)
    manager = services.replica_manager
    places = {each: TopicPartition(topic.name, each) for each in by_partition}
    await manager.open(places.values())
    for partition, records in by_partition.items():
        place = places[partition]
        try:
            size_max = manager.partition(place).config.max_message_bytes
        except KafkaError as error:
            raise AdminError(error.code.name, f"{place}: {error}") from None
        for some in _in_batches(records, size_max):
            result = await _append_batch(services, place, [each for _, each in some])
            for delta, (number, _) in enumerate(some):
                found[number] = place, result.base_offset + delta
    return [each for each in found if each is not None]


async def _append_batch(
    services: Services, place: TopicPartition, records: list[NewRecord]
) -> AppendResult:
    batch = memoryview(build_batch(records))
    answer: Any = services.replica_manager.append_records(
        {place: batch}, acks=-1, timeout_ms=TIMEOUT_MS
    )
    results = answer if isinstance(answer, dict) else await answer
    result: AppendResult = results[place]
    if result.error_code:
        code = ErrorCode(result.error_code).name
        raise AdminError(code, f"{place}: {result.message or code}")
    return result


def _in_batches(
    records: Iterable[tuple[int, NewRecord]], size_max: int
) -> Iterator[list[tuple[int, NewRecord]]]:
    """As many at a time as a batch of ``size_max`` takes."""
    some: list[tuple[int, NewRecord]] = []
    size = _BATCH_RESERVE
    for numbered in records:
        _, record = numbered
        own_size = _size_of(record)
        if some and size + own_size > size_max:
            yield some
            some, size = [], _BATCH_RESERVE
        some.append(numbered)
        size += own_size
    if some:
        yield some


def _size_of(record: NewRecord) -> int:
    """At least what it takes of a batch."""
    names = sum(len(name.encode()) for name, _ in record.headers)
    values = [record.key, record.value, *(value for _, value in record.headers)]
    size = sum(len(memoryview(each)) for each in values if each is not None)
    return _RECORD_RESERVE + names + 10 * len(record.headers) + size


# Read


class _Asked(NamedTuple):
    partition: int | None
    begin: int
    end: int | None
    last: int | None
    wanted: Wanted


def _asked(fields: Fields) -> _Asked:
    asked = _Asked(
        fields.number("partition", None),
        fields.number("from", 0, at_least=0),
        fields.number("to", None, at_least=0),
        fields.number("last", None, at_least=0),
        Wanted(
            fields.flag("control", False),
            fields.flag("aborted", False),
            fields.flag("open", False),
        ),
    )
    if asked.last is not None and (fields.has("from") or fields.has("to")):
        raise refusal("last is for a request without from and to")
    return asked


async def _read(
    services: Services, topic: Topic, asked: _Asked
) -> AsyncGenerator[tuple[TopicPartition, Shown], None]:
    places = _places(topic, asked.partition)
    await services.replica_manager.open(places)
    last: list[tuple[TopicPartition, Shown]] = []
    for place in places:
        try:
            view = services.replica_manager.partition(place).view
            for each in _records_of(view, asked):
                if asked.last is None:
                    yield place, each
                else:
                    last.append((place, each))
        except KafkaError as error:
            raise AdminError(error.code.name, f"{place}: {error}") from None
    if asked.last:
        last.sort(key=lambda each: each[1].record.timestamp)
        for found in last[-asked.last :]:
            yield found


def _places(topic: Topic, partition: int | None) -> list[TopicPartition]:
    partition_count = len(topic.partitions)
    if partition is None:
        return [TopicPartition(topic.name, each) for each in range(partition_count)]
    if not 0 <= partition < partition_count:
        raise refusal(_no_partition(topic, partition))
    return [TopicPartition(topic.name, partition)]


def _records_of(view: PartitionView, asked: _Asked) -> Iterable[Shown]:
    if asked.last is not None:
        return last_records(view, asked.last, asked.wanted)
    end = visible_end(view, asked.wanted)
    if asked.end is not None:
        end = min(end, asked.end)
    return shown_records(view, asked.begin, end, asked.wanted)


def _no_partition(topic: Topic, partition: int) -> str:
    last = len(topic.partitions) - 1
    has = f"0 to {last}" if last else "only 0"
    return f"there is no partition {partition} in {topic.name}: it has {has}"
