"""Which offsets the rows of a table came from, as its columns say.

It is asked when nothing else says where a job is, and before a job writes to a table
that has rows of others. The statistics of the files say it where a row group has
records of one partition, as it mostly has; otherwise the columns are read.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.pipeline.tables.compaction.compaction import open_file
from odradek.pipeline.tables.partitions.partition_path import values_of
from odradek.pipeline.tables.places.place import local_or_none
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from odradek.pipeline.values.decoding import ValueFormat

_PLACE = ("topic", "partition", "offset")


class OffsetSpan(NamedTuple):
    """From the first offset up to, and without, ``end``; not all between are there."""

    first: int
    end: int

    def joined(self, other: OffsetSpan | None) -> OffsetSpan:
        """The span of both."""
        if other is None:
            return self
        return OffsetSpan(min(self.first, other.first), max(self.end, other.end))


def offset_columns(value: ValueFormat) -> tuple[str, ...] | None:
    """The columns with topic, partition and offset; None if a row lacks one."""
    if not set(_PLACE) <= set(value.columns):
        return None
    return tuple(f"_{name}" if value.is_typed else name for name in _PLACE)


def offset_spans(
    paths: Sequence[str],
    columns: tuple[str, ...] | None,
    opened: Callable[[str], Any] = local_or_none,
) -> dict[TopicPartition, OffsetSpan] | None:
    """The span of each partition; None if the rows do not say where they came from.

    ``opened`` makes of a path what pyarrow takes, as the table knows.

    Raises:
        JobError: a file cannot be read.
    """
    if not paths:
        return {}
    if columns is None:
        return None
    found: dict[TopicPartition, OffsetSpan] = {}
    with ThreadPoolExecutor(min(32, 4 * (os.cpu_count() or 1))) as threads:
        for spans in threads.map(lambda path: _spans_of(opened(path), columns), paths):
            if spans is None:
                return None
            _join(found, spans)
    return found


def _join(
    found: dict[TopicPartition, OffsetSpan],
    spans: Iterable[tuple[TopicPartition, OffsetSpan]],
) -> None:
    for place, span in spans:
        found[place] = span.joined(found.get(place))


def _spans_of(
    opened: Any, columns: tuple[str, ...]
) -> list[tuple[TopicPartition, OffsetSpan]] | None:
    if opened is None:
        return None  # of another file system, and of another writer
    with open_file(opened) as file:
        path = opened if isinstance(opened, str) else ""
        divided = {n: v for n, v in values_of(path).items() if n in columns}
        inside = [name for name in columns if name not in divided]
        if not set(inside) <= set(file.schema_arrow.names):
            return None
        if divided:  # they stand in the names of folders
            return _by_rows(_with(divided, file.read(columns=inside), columns))
        # A column with columns in it counts as several in the file.
        named = {file.schema.column(n).path: n for n in range(len(file.schema))}
        places = [named[name] for name in columns]
        spans: list[tuple[TopicPartition, OffsetSpan]] = []
        for number in range(file.metadata.num_row_groups):
            said = _by_statistics(file, number, places)
            if said is None:
                spans += _by_rows(file.read_row_group(number, columns=list(columns)))
            else:
                spans.append(said)
        return spans


def _by_statistics(
    file: Any, number: int, places: list[int]
) -> tuple[TopicPartition, OffsetSpan] | None:
    group = file.metadata.row_group(number)
    topic, partition, offset = (group.column(n).statistics for n in places)
    for each in (topic, partition, offset):
        if each is None or not each.has_min_max or each.null_count:
            return None
    if (topic.min, partition.min) != (topic.max, partition.max):
        return None
    place = TopicPartition(topic.min, partition.min)
    return place, OffsetSpan(offset.min, offset.max + 1)


def _with(divided: dict[str, str | None], rows: Any, columns: tuple[str, ...]) -> Any:
    """The rows with the columns that divide the table."""
    import pyarrow as pa

    for name, text in divided.items():
        kind = pa.string() if name == columns[0] else pa.int64()
        values = pa.repeat(pa.scalar(text, pa.string()), len(rows)).cast(kind)
        rows = rows.append_column(name, values)
    return rows.select(list(columns))


def _by_rows(rows: Any) -> list[tuple[TopicPartition, OffsetSpan]]:
    topic, partition, offset = rows.column_names
    grouped = rows.drop_null().group_by([topic, partition])
    found = grouped.aggregate([(offset, "min"), (offset, "max")]).to_pylist()
    return [
        (
            TopicPartition(row[topic], row[partition]),
            OffsetSpan(row[f"{offset}_min"], row[f"{offset}_max"] + 1),
        )
        for row in found
    ]
