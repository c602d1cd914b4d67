"""Segments of a data directory instead of answers of a broker (``path=``).

How far the logs go a broker says, if one is named; else the directory, which must then
have been stopped cleanly.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from odradek.pipeline.errors import BadOption, SourceError, did_you_mean
from odradek.pipeline.segments.directory import DataDirectory
from odradek.pipeline.segments.planning import plan_segments
from odradek.protocol.uuids import ZERO_UUID, to_text
from odradek.storage.formats.partition_metadata import (
    PARTITION_METADATA_NAME,
    BadPartitionMetadata,
    parse_partition_metadata,
)

from .log_view import BrokerView, LogEnd, TopicView, connected

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.segments.planning import SegmentRange
    from odradek.protocol.topic_partition import TopicPartition

    from .log_view import LogView
    from .options import SourceOptions


@dataclass(frozen=True, repr=False)
class SegmentPartition(InputPartition):
    """Bytes of a segment that one task reads."""

    piece: SegmentRange


class DirectoryView:
    """The logs of a directory whose broker is stopped, as a `LogView`."""

    def __init__(self, path: Path, *, committed: bool) -> None:
        """Raises SourceError unless it was stopped cleanly."""
        self._directory = DataDirectory(path)
        self._directory.check_stopped()
        self._committed = committed

    def topics(self, names: Collection[str] | None) -> Mapping[str, TopicView]:
        """As `LogView` says; ids matter to who asks a broker only."""
        numbers: dict[str, list[int]] = {}
        for topic, number in self._directory.partitions():
            numbers.setdefault(topic, []).append(number)
        for name in names or ():
            if name not in numbers:
                hint = did_you_mean(name, list(numbers))
                raise SourceError(f"{self._directory.path} has no topic {name}.{hint}")
        return {name: TopicView(ZERO_UUID, found) for name, found in numbers.items()}

    def starts(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """As `LogView` says."""
        offsets = self._directory.offsets
        return {place: offsets(place).log_start_offset for place in places}

    def ends(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, LogEnd]:
        """As `LogView` says."""
        found = {}
        for place in places:
            if self._committed:
                end = self._directory.last_stable_offset(place)
            else:
                end = self._directory.offsets(place).high_watermark
            found[place] = LogEnd(end)
        return found

    def bytes_per_offset(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, float]:
        """Of none: its tasks are pieces of segments."""
        return {}

    def offsets_since(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Only a broker looks offsets up by time.

        Raises:
            BadOption: always.
        """
        text = "reads by time only with a broker: give kafka.bootstrap.servers too."
        raise BadOption("path", text)


@contextmanager
def log_view(options: SourceOptions) -> Iterator[LogView]:
    """Whoever can say what the options need to know."""
    if options.bootstrap:
        with connected(options) as cluster:
            yield BrokerView(cluster, committed=options.committed)
    else:
        assert options.path is not None
        yield DirectoryView(Path(options.path), committed=options.committed)


def segment_partitions(
    ranges: Sequence[OffsetRange],
    options: SourceOptions,
    topic_ids: Mapping[str, bytes],
) -> list[InputPartition]:
    """Pieces of segments that have these offsets, each for one task.

    Raises:
        SourceError: the directory has other topics of these names than the broker, or
            a file that should say which does not.
    """
    assert options.path is not None
    for each in ranges:
        _check_id(Path(options.path), each.place, topic_ids.get(each.topic, ZERO_UUID))
    pieces = plan_segments(
        Path(options.path),
        ranges,
        committed=options.committed,
        fails_on_data_loss=options.fails_on_data_loss,
    )
    return [SegmentPartition(piece) for piece in pieces]


def _check_id(path: Path, place: TopicPartition, topic_id: bytes) -> None:
    """Files of another cluster, or of a topic that was created again, are not read."""
    found = _topic_id_of(path / str(place) / PARTITION_METADATA_NAME)
    if found is not None and topic_id not in (found, ZERO_UUID):
        raise SourceError(
            f"Option path: {path} has another topic {place.topic} than the broker: its"
            f" id is {to_text(found)}, and not {to_text(topic_id)}. Is it this broker's"
            " directory (log.dirs)?"
        )


def _topic_id_of(path: Path) -> bytes | None:
    """What the file says; None where there is none.

    Brokers before 2.8 wrote none, and one that runs writes it with its first sync.

    Raises:
        SourceError: it is there, and does not say: the log may be any topic's.
    """
    try:
        return parse_partition_metadata(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (BadPartitionMetadata, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceError(
            f"Option path: {path}: {reason}. It says of which topic the log beside it"
            " is, so that log is not read; `odradek fsck` looks at the whole directory."
        ) from error
