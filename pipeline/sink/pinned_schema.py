"""The columns of JSON values that nobody has written down: found once, and kept.

``schema = "infer"`` looks at some records when the job first starts, and writes what
they have to ``schema_file``. From then on that file counts, and whoever wants other
columns changes it: a table never changes because other records happened to be first.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.client.fetcher import Fetcher
from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.starting_offsets import listed, subscribed
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.source.data_source import Decoding
from odradek.pipeline.source.log_view import cluster_of, in_plain_words
from odradek.pipeline.source.options import RECORDS, read_stream_options
from odradek.pipeline.source.wire_reader import read_fetched
from odradek.pipeline.tables.table import sync
from odradek.pipeline.values.inference import INFER, infer
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from odradek.client.cluster import Cluster
    from odradek.pipeline.jobs.job_source import Source
    from odradek.pipeline.values.decoding import ValueFormat
    from odradek.terminal.progress import Progress

# Of each partition the first records and the last ones, of so many partitions.
_RECORDS, _PARTITIONS_MAX = 200, 32


def pinned(
    value: ValueFormat,
    values: Callable[[], Iterable[bytes | None]],
    progress: Progress,
) -> ValueFormat:
    """The format with its columns; ``values`` are asked for where there is no file.

    Raises:
        JobError: nothing can be found out, or the file cannot be written.
    """
    if value.schema != INFER:
        return value
    path = Path(value.schema_file)
    if not path.exists():
        columns = infer(values())
        _put(path, columns)
        progress.note("schema", file=str(path), columns=columns)
    return replace(value, schema=path.read_text().strip())


def _put(path: Path, columns: str) -> None:
    """Make the file, whole and durable, unless somebody has made it meanwhile."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_text(columns + "\n")
        sync(temporary)
        if not path.exists():
            os.replace(temporary, path)
        sync(path.parent)
    except OSError as error:
        raise JobError(
            f"[value] schema_file: {path} cannot be written: {error.strerror}"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def sampled(
    cluster: Cluster, source: Source, options: Mapping[str, str]
) -> Iterator[bytes | None]:
    """Values of some records of a job's topics; ``options`` are those of its stream.

    Raises:
        JobError: there is no record yet.
        SourceError: the brokers do not give them.
    """
    topics = subscribed(cluster, source)
    places = [TopicPartition(name, n) for name, ns in topics.items() for n in ns]
    starts = listed(cluster, dict.fromkeys(places, EARLIEST), source)
    ends = listed(cluster, dict.fromkeys(places, LATEST), source)
    filled = [place for place in places if starts[place] < ends[place]]
    if not filled:
        raise JobError(
            f'schema = "infer": {", ".join(topics) or "the topics"} have no records'
            " yet, of which columns could be found out; start the job when they have,"
            ' or write schema = "..." yourself'
        )
    read = read_stream_options(options)
    decoding = Decoding(RECORDS, RecordColumns(("value",)), read)
    with (
        cluster_of(read) as others,
        in_plain_words(others.security),
    ):
        fetcher = Fetcher(others, committed=read.committed)
        for place in filled[:: -(-len(filled) // _PARTITIONS_MAX)]:
            for wanted in _ranges(place, starts[place], ends[place]):
                for rows in read_fetched(fetcher, wanted, read, decoding.of_answer):
                    yield from rows.column("value").to_pylist()


def _ranges(place: TopicPartition, start: int, end: int) -> Iterator[OffsetRange]:
    middle = min(start + _RECORDS, end)
    yield OffsetRange(*place, start, middle)
    if middle < end:
        yield OffsetRange(*place, max(middle, end - _RECORDS), end)
