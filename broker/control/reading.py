"""What a partition holds, as those see it who read it: without a client.

Records of a transaction count when it is committed: what is beyond the last stable
offset is *open*. Who asks for that is shown open records, those of aborted transactions
and control records, each marked as what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.control_records import ControlType, decode_key
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.storage.values.log_read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.replica.partition.view import PartitionView
    from odradek.protocol.record_batch import BatchHeader
    from odradek.protocol.records import Record

_PAGE_BYTES = 1 << 20
NOTHING = ""
ABORTED, OPEN = "aborted", "open"


class Shown(NamedTuple):
    """A record, and what it is besides: "aborted", "open", "commit", "abort" …"""

    record: Record
    what: str = NOTHING


class ReadBatch(NamedTuple):
    """A whole batch, and what its records are, as in `Shown`."""

    header: BatchHeader
    data: memoryview
    what: str


class Wanted(NamedTuple):
    """What is shown besides the records that a committed reader sees."""

    control: bool = False
    aborted: bool = False
    open: bool = False

    def has(self, what: str) -> bool:
        """Whether records that are ``what`` are wanted."""
        if what in (NOTHING, ABORTED, OPEN):
            return what == NOTHING or (self.aborted if what == ABORTED else self.open)
        return self.control


COMMITTED = Wanted()


def shown_records(
    view: PartitionView, begin: int, end: int, wanted: Wanted = COMMITTED
) -> Iterator[Shown]:
    """The records from ``begin`` up to ``end``, which is not among them.

    Raises:
        KafkaError: they cannot be read.
    """
    begin = max(begin, view.log_start_offset)
    for batch in read_batches(view, begin, end):
        if wanted.has(batch.what):
            for record in iterate(batch.data):
                if begin <= record.offset < end:
                    yield Shown(record, batch.what)


def count_records(view: PartitionView, begin: int, end: int) -> int:
    """How many records a committed reader sees there.

    Raises:
        KafkaError: they cannot be read.
    """
    count, begin = 0, max(begin, view.log_start_offset)
    for header, data, what in read_batches(view, begin, end):
        if what:
            continue
        if begin <= header.base_offset and header.last_offset < end:
            count += header.records_count
        else:
            count += sum(begin <= each.offset < end for each in iterate(data))
    return count


def read_batches(view: PartitionView, begin: int, end: int) -> Iterator[ReadBatch]:
    """The batches with records from ``begin`` up to ``end``, as long as there are any.

    The first one may begin before that.
    """
    offset = max(begin, view.log_start_offset)
    while offset < min(end, view.high_watermark):
        is_stable = offset < view.last_stable_offset
        page = list(_page(view, offset, is_stable))
        if not page:
            return
        for batch in page:
            if batch.header.base_offset >= end:
                return
            yield batch
        offset = page[-1].header.next_offset


def _page(view: PartitionView, offset: int, is_stable: bool) -> Iterator[ReadBatch]:
    """Some batches, of which the first one has ``offset``."""
    isolation = (
        FetchIsolation.TXN_COMMITTED if is_stable else FetchIsolation.HIGH_WATERMARK
    )
    found = view.read(offset, _PAGE_BYTES, isolation, min_one=True, may_block=True)
    data = memoryview(found.records)
    to_come = sorted(found.aborted or (), key=lambda each: each.first_offset)
    aborted: set[int] = set()
    for position, header in scan(data):
        batch = data[position : position + header.size]
        while to_come and to_come[0].first_offset <= header.last_offset:
            aborted.add(to_come.pop(0).producer_id)
        what = NOTHING
        if header.is_control:
            what = _what_control_says(batch)
            if what == "abort":
                aborted.discard(header.producer_id)
        elif not is_stable:
            what = OPEN
        elif header.is_transactional and header.producer_id in aborted:
            what = ABORTED
        yield ReadBatch(header, batch, what)


def _what_control_says(batch: memoryview) -> str:
    for record in iterate(batch):
        kind = decode_key(record.key)
        if isinstance(kind, ControlType):
            return kind.name.lower().replace("_", "-")
    return "control"  # compaction took it, or nobody knows it


def visible_end(view: PartitionView, wanted: Wanted) -> int:
    """Where reading ends: what is open is behind the last stable offset."""
    return view.high_watermark if wanted.open else view.last_stable_offset


def last_records(
    view: PartitionView, count: int, wanted: Wanted = COMMITTED
) -> list[Shown]:
    """The last ``count`` of them, or as many as there are."""
    end, start = visible_end(view, wanted), view.log_start_offset
    distance = count
    while True:
        begin = max(start, end - distance)
        shown = list(shown_records(view, begin, end, wanted))
        if len(shown) >= count or begin == start:
            return shown[-count:] if count else []
        distance *= 4


def as_item(topic: str, partition: int, shown: Shown) -> dict[str, Any]:
    """As ``consume --json`` writes it; ``what`` is there where it is something."""
    from odradek.protocol.record_json import as_json
    from odradek.protocol.topic_partition import TopicPartition

    item = as_json(TopicPartition(topic, partition), shown.record)
    if shown.what:
        item["what"] = shown.what
    return item
