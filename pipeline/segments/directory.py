"""A log directory of a stopped broker: which partitions, and how far they go."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.damage import Damage
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import CONTROL, TRANSACTIONAL, scan
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.formats.checkpoint import CheckpointError, parse_offsets
from odradek.storage.formats.producer_entry import parse_producers

from .files import SegmentFile, SegmentIndex, list_segments
from .planning import plan_segments
from .walk import walk_segment

if TYPE_CHECKING:
    from pathlib import Path

_PARTITION = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)", re.ASCII)
_CLEAN_MARKER = ".kafka_cleanshutdown"
_METADATA_TOPIC = "__cluster_metadata"
_LOG_STARTS = "log-start-offset-checkpoint"
_HIGH_WATERMARKS = "replication-offset-checkpoint"
_SNAPSHOT = ".snapshot"


class LogOffsets(NamedTuple):
    """How far a partition goes: records from the first up to, without, the second."""

    log_start_offset: int
    high_watermark: int


class DataDirectory:
    """The partitions in a log directory; of a running broker only their names hold."""

    def __init__(self, path: Path) -> None:
        """Raises SourceError when ``path`` is no directory, or has no partition."""
        self.path = path
        try:
            names = os.listdir(path)
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise SourceError(f"Option path: {path}: {error.strerror}.") from None
        self._places = sorted(
            TopicPartition(match[1], int(match[2]))
            for match in map(_PARTITION.fullmatch, names)
            if match and match[1] != _METADATA_TOPIC and (path / match[0]).is_dir()
        )
        if not self._places and "meta.properties" not in names:
            raise SourceError(
                f"Option path: {path} is not a log directory of a broker (log.dirs):"
                " there is no meta.properties and no partition in it."
            )
        self._checkpoints: dict[str, dict[TopicPartition, int]] = {}

    def partitions(self) -> list[TopicPartition]:
        """The partitions that have a directory, in order."""
        return list(self._places)

    @property
    def is_stopped(self) -> bool:
        """Whether a broker stopped cleanly here, and has not been started since."""
        return is_stopped(self.path)

    def check_stopped(self) -> None:
        """Return if `is_stopped`.

        Raises:
            SourceError: it was not; the reason is said.
        """
        if not self.is_stopped:
            raise SourceError(
                f"{self.path} was not stopped cleanly (there is no {_CLEAN_MARKER}): a"
                " broker runs on it, or was killed. Without the broker nobody knows"
                " which records are committed: give kafka.bootstrap.servers, or start"
                " a broker on the directory and stop it."
            )

    def offsets(self, place: TopicPartition) -> LogOffsets:
        """How far a partition of a stopped broker goes.

        Raises:
            SourceError: a checkpoint cannot be read, or the partition is not there.
        """
        directory = self.path / str(place)
        try:
            segments = list_segments(directory)
        except FileNotFoundError:
            raise SourceError(f"{self.path} has no partition {place}.") from None
        if not segments:
            return LogOffsets(0, 0)
        start = self._checkpoint(_LOG_STARTS).get(place, 0)
        start = max(start, segments[0].base_offset)
        end = self._checkpoint(_HIGH_WATERMARKS).get(place)
        if end is None or end < start:
            end = max(start, _log_end(segments[-1]))
        return LogOffsets(start, end)

    def last_stable_offset(self, place: TopicPartition) -> int:
        """Where the first open transaction of a stopped broker's partition begins.

        The high watermark if there is none. A broker that stops writes a snapshot of
        its producers; where it is missing, the log is read from the one before.

        Raises:
            SourceError: as `offsets`.
        """
        start, end = self.offsets(place)
        if end == start:
            return end
        known, open_since = self._newest_snapshot(place, end)
        if known < end:
            wanted = OffsetRange(*place, max(known, start), end)
            for piece in plan_segments(self.path, [wanted], fails_on_data_loss=False):
                for found in walk_segment(piece._replace(reaches_end=False)):
                    if isinstance(found, Damage) or not found.flags & TRANSACTIONAL:
                        continue
                    for at in range(found.length):
                        header = found.header(at)
                        if not header.is_transactional:
                            continue
                        if not header.attributes & CONTROL:
                            open_since.setdefault(
                                header.producer_id, header.base_offset
                            )
                        elif _ends_transaction(found.batch(at)):
                            open_since.pop(header.producer_id, None)
        return min([end, *open_since.values()])

    def _checkpoint(self, name: str) -> dict[TopicPartition, int]:
        if name not in self._checkpoints:
            path = self.path / name
            try:
                self._checkpoints[name] = parse_offsets(path.read_text())
            except FileNotFoundError:
                self._checkpoints[name] = {}
            except (CheckpointError, UnicodeDecodeError) as error:
                raise SourceError(f"{path}: {error}.") from None
        return self._checkpoints[name]

    def _newest_snapshot(
        self, place: TopicPartition, end: int
    ) -> tuple[int, dict[int, int]]:
        """Its offset, and the first offsets of the transactions open there."""
        directory = self.path / str(place)
        names = [name for name in os.listdir(directory) if name.endswith(_SNAPSHOT)]
        for name in sorted(names, reverse=True):
            stem = name.removesuffix(_SNAPSHOT)
            if not stem.isdecimal() or int(stem) > end:
                continue
            try:
                producers = parse_producers((directory / name).read_bytes())
            except ValueError:
                continue  # the log says the same
            return int(stem), {
                each.producer_id: each.current_txn_first_offset
                for each in producers
                if each.current_txn_first_offset >= 0
            }
        return 0, {}


def is_stopped(path: Path) -> bool:
    """Whether a broker stopped cleanly on this directory, and has not begun since."""
    return (path / _CLEAN_MARKER).exists()


def _ends_transaction(batch: memoryview) -> bool:
    try:
        return read_marker(batch) is not None
    except KafkaError:
        return False


def _log_end(segment: SegmentFile) -> int:
    """The offset behind the last batch, as far as headers say."""
    position, _, end = SegmentIndex(segment).last()
    with segment.path.open("rb") as log:
        log.seek(position)
        try:
            for _, header in scan(log.read()):
                end = header.next_offset
        except KafkaError:
            pass  # whoever reads finds it damaged, or the end of what was written
    return end
