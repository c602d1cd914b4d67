"""What all logs held at one moment, and links that keep it there.

The moment is one turn of the loop (`take_cuts`): offsets and transactions are logs as
well, so that what was acknowledged before it is in the cut, and nothing contradicts
anything else. Then every file of the cut gets a second name, in a directory of its
log directory (`LogHold`): whatever retention, compaction or a deletion do from there
on, the bytes stay until the hold is let go.

The directory has the name of a deleted partition. What a crash leaves of it, the next
start removes, ours and that of Apache Kafka.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.directory.log_directory import DirectoryKind, suffixed_name
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.checkpoints import EPOCHS_NAME
from odradek.storage.files.files import MISSING, Files, StorageFailure
from odradek.storage.files.partition_metadata import (
    PARTITION_METADATA_NAME,
    format_partition_metadata,
)
from odradek.storage.local.quarantine import QUARANTINE_NAME
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.snapshot import list_snapshots, snapshot_name
from odradek.storage.producers.table import ProducerPicture
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import LOG, SEGMENT_KINDS, segment_path
from odradek.storage.values.offset_metadata import OffsetMetadata


class NoLinks(KafkaStorageError):
    """The file system of a log directory has no hard links."""


class LogCut(NamedTuple):
    """A log as it was: it ended at ``end``, in the last of ``segments``.

    ``clean_offset``: up to where it was compacted, if it was. ``producers``: those at
    the end, if whoever opens the copy is not to read them from the log.
    """

    log: UnifiedLog
    end: OffsetMetadata
    segments: tuple[LogSegment, ...]
    clean_offset: int | None
    producers: ProducerPicture | None = None


def take_cuts(log_manager: LogManager) -> list[LogCut]:
    """What all open logs hold now. On the loop, in one breath: microseconds a log."""
    return [
        LogCut(
            log,
            log.local.end,
            tuple(log.local.segments),
            log_manager.cleaner_checkpoint(log).get(log.topic_partition),
        )
        for log in log_manager.logs()
        if not log.is_failed
    ]


def take_rolled_cuts(log_manager: LogManager, now_ms: int) -> list[LogCut]:
    """The same, of logs that grow in new segments from here on: all else is sealed.

    Raises:
        DirectoryFailure: a disk fails.
        KafkaStorageError: there is no room for the segments.
    """
    for log in log_manager.logs():
        if not log.is_failed and log.local.active.size:
            try:
                log.roll(now_ms)
            except StorageFailure as error:
                raise DirectoryFailure(log.directory.parent, error) from error
    return [
        cut._replace(producers=cut.log.producers.picture())
        for cut in take_cuts(log_manager)
    ]


class LogHold:
    """The links to the files of one cut. `plan` and `is_valid` are for the loop."""

    def __init__(self, files: Files, cut: LogCut) -> None:
        log = cut.log
        name = suffixed_name(log.topic_partition, DirectoryKind.DELETE)
        self.cut = cut
        self.directory = log.directory.parent / name
        self._files = files
        self._origin = log.directory
        self._paths: tuple[Path, ...] = ()
        self._texts: Mapping[str, bytes] = {}

    def plan(self) -> None:
        """Note where the files are now, and what the small ones say."""
        log = self.cut.log
        self._origin = log.directory
        self._paths = tuple(segment.log.path for segment in self.cut.segments)
        self._texts = {
            EPOCHS_NAME: log.epochs.encode(),
            PARTITION_METADATA_NAME: format_partition_metadata(log.topic_id),
        }
        if len(log.quarantine):
            self._texts = {**self._texts, QUARANTINE_NAME: log.quarantine.encode()}

    def link(self) -> None:
        """Make the links. For a disk thread.

        Raises:
            FileNotFoundError: a file has another name by now, or has gone.
            NoLinks: the file system has none.
            KafkaStorageError: the disk fails, or is full.
        """
        files = self._files
        files.mkdir(self.directory)
        for segment, path in zip(self.cut.segments, self._paths, strict=True):
            self._link_segment(segment.base_offset, path)
        texts = dict(self._texts)
        end, producers = self.cut.end.offset, self.cut.producers
        if producers is not None:
            texts[snapshot_name(end)] = producers.encode()
        for offset in list_snapshots(files, self._origin):
            if offset <= end and snapshot_name(offset) not in texts:
                with suppress(*MISSING):  # a newer one has replaced it
                    self._link(self._origin / snapshot_name(offset))
        for name, data in texts.items():
            file = files.open(self.directory / name, create=True)
            file.append(data)
            file.close()

    def is_valid(self) -> bool:
        """Whether nothing was renamed while the links were made.

        A renaming is one breath of the loop, so that between two of them all files of
        a segment have names alike: what was not there then is not there at all.
        """
        log = self.cut.log
        paths = tuple(segment.log.path for segment in self.cut.segments)
        return (paths, log.directory) == (self._paths, self._origin)

    def let_go(self) -> None:
        """Remove the links. For a disk thread."""
        self._files.rmtree(self.directory)

    def described(self) -> dict[str, Any]:
        """What a copy of it must know, as JSON has it. On the loop."""
        log, end = self.cut.log, self.cut.end
        return {
            "topic": log.topic_partition.topic,
            "partition": log.topic_partition.partition,
            "held": str(self.directory.absolute()),
            "startOffset": min(
                max(log.log_start_offset, self.cut.segments[0].base_offset),
                end.offset,
            ),
            "endOffset": end.offset,
            "activeBase": end.segment_base_offset,
            "activeSize": end.position,
            "cleanOffset": self.cut.clean_offset,
        }

    def _link_segment(self, base_offset: int, path: Path) -> None:
        suffix = path.name.removeprefix(f"{base_offset:020d}{LOG}")
        for kind in SEGMENT_KINDS:
            source = segment_path(path.parent, base_offset, kind + suffix)
            try:
                self._link(source, f"{base_offset:020d}{kind}")
            except MISSING:
                if kind == LOG:
                    raise

    def _link(self, source: Path, name: str | None = None) -> None:
        if not self._files.link(source, self.directory / (name or source.name)):
            raise NoLinks(
                f"the file system of {self.directory.parent} has no hard links: stop"
                " the broker, and make the backup then"
            )


def link_all(holds: Iterable[LogHold]) -> list[LogHold]:
    """Make the links of several. For a disk thread. Returns those that met MISSING."""
    missed = []
    for hold in holds:
        try:
            hold.link()
        except MISSING:
            missed.append(hold)
    return missed
