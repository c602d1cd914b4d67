"""Reading a stretch of offsets from the brokers, in a Spark task."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from odradek.client.fetcher import Fetcher, FetchLimits
from odradek.pipeline.errors import SourceError
from odradek.pipeline.security.words import TOPIC, Need
from odradek.protocol.errors import KafkaError, OffsetOutOfRange

from .log_view import BrokerView, connected, in_plain_words
from .planning import lose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow

    from odradek.client.cluster import Cluster
    from odradek.client.fetcher import Fetched
    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.records.small_answers import SmallAnswers
    from odradek.protocol.topic_partition import TopicPartition

    from .options import SourceOptions


# So many partitions are asked for in one request, at most.
_ASKED_TOGETHER = 128


class Decoder(Protocol):
    """Makes rows of the whole batches in an answer, of those offsets only.

    ``next_offset`` is where to go on, once all rows are taken: behind damage too.
    """

    next_offset: int

    def decode(
        self, data: memoryview, start: int, end: int
    ) -> Iterator[pyarrow.RecordBatch]:
        """The rows in [start, end)."""


def read_wire(
    wanted: Sequence[OffsetRange],
    topic_ids: Mapping[str, bytes],
    options: SourceOptions,
    decoder_of: Callable[[Fetched], Decoder],
    together: SmallAnswers | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of these offsets, one stretch after the other.

    They are as a decoder for each answer makes them, or ``together`` of small ones.

    Raises:
        DataLoss: some of the offsets are not there any more.
        SourceError: the brokers do not give them.
    """
    with connected(options) as cluster:
        fetcher = Fetcher(cluster, committed=options.committed, topic_ids=topic_ids)
        for each, rows in begun(fetcher, wanted, options, decoder_of, together):
            with in_plain_words(cluster.security, Need("Read", TOPIC, each.topic)):
                yield from rows


def begun(
    fetcher: Fetcher,
    wanted: Sequence[OffsetRange],
    options: SourceOptions,
    decoder_of: Callable[[Fetched], Decoder],
    together: SmallAnswers | None = None,
) -> Iterator[tuple[OffsetRange, Iterator[pyarrow.RecordBatch]]]:
    """Rows of stretches, in their order; with each the last of those that it is of."""
    for each, first in _asked(fetcher, wanted, options):
        if together is not None and first is not None:
            if together.take(each.place, first.records, each.start, each.end):
                if together.is_full:
                    yield each, together.rows()
                continue
            yield each, together.rows()
        yield each, read_fetched(fetcher, each, options, decoder_of, first)
    if together is not None and wanted:
        yield wanted[-1], together.rows()


def _asked(
    fetcher: Fetcher, wanted: Sequence[OffsetRange], options: SourceOptions
) -> Iterator[tuple[OffsetRange, Fetched | None]]:
    """Stretches, with the first answer for each where many were asked for at once.

    A request for each of a thousand small partitions takes longer than their records.
    """
    if len(wanted) == 1:
        yield wanted[0], None
        return
    limits = FetchLimits(options.max_bytes, max_wait_ms=options.max_wait_ms)
    for start in range(0, len(wanted), _ASKED_TOGETHER):
        group = wanted[start : start + _ASKED_TOGETHER]
        found: dict[TopicPartition, Fetched] = {}
        # What is wrong with one of them is found, and told, when it is asked alone.
        with suppress(KafkaError, OSError):
            # Of two stretches of a partition the first.
            places = {each.place: each.start for each in reversed(group)}
            found = fetcher.fetch_many(places, limits)
        for each in group:
            yield each, found.pop(each.place, None)


def read_fetched(
    fetcher: Fetcher,
    wanted: OffsetRange,
    options: SourceOptions,
    decoder_of: Callable[[Fetched], Decoder],
    first: Fetched | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """The same with a fetcher that there is, whose errors are its own.

    ``first`` is what an answer had of them already, from their start on.

    Raises:
        DataLoss: as `read_wire`.
        KafkaError, OSError: the brokers do not give them.
    """
    offset: int | None = wanted.start
    while offset is not None and offset < wanted.end:
        try:
            for fetched in _pieces(fetcher, wanted, offset, options, first):
                first = None
                decoder = decoder_of(fetched)
                yield from decoder.decode(fetched.records, offset, wanted.end)
                expected = fetched.next_offset(offset)
                offset = max(decoder.next_offset, offset)
                if offset < wanted.end and offset != expected:
                    break  # damage: what is on its way begins elsewhere
            else:
                if offset < wanted.end:
                    raise SourceError(f"{wanted}: no whole batch at {offset}.")
        except OffsetOutOfRange as error:
            lose(f"{wanted}: {error}", options)
            offset = _first_after(fetcher.cluster, wanted.place, offset, options)


def _pieces(
    fetcher: Fetcher,
    wanted: OffsetRange,
    offset: int,
    options: SourceOptions,
    first: Fetched | None,
) -> Iterator[Fetched]:
    limits = FetchLimits(options.max_bytes, max_wait_ms=options.max_wait_ms)
    if first is not None and first.next_offset(offset) > offset:
        yield first
        offset = first.next_offset(offset)
    if offset < wanted.end:
        yield from fetcher.read(wanted.place, offset, wanted.end, limits)


def _first_after(
    cluster: Cluster, place: TopicPartition, offset: int, options: SourceOptions
) -> int | None:
    """Where the log begins, if that is later; None when there is nothing more."""
    view = BrokerView(cluster, committed=options.committed)
    start = view.starts([place])[place]
    return start if start > offset else None
