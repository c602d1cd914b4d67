"""Log directories: their identity and checkpoints, and every partition in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.data_format import why_unreadable
from odradek.storage.directory.disk_reserve import PROBE_NAME, RESERVE_NAME
from odradek.storage.directory.log_directory import (
    CLEAN_MARKER_NAME,
    LOCK_NAME,
    DirectoryKind,
    parse_directory_name,
)
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSETS_NAME,
    HIGH_WATERMARKS_NAME,
    LOG_STARTS_NAME,
    RECOVERY_POINTS_NAME,
    read_offsets,
)
from odradek.storage.files.file_system import Files
from odradek.storage.files.meta_properties import (
    META_PROPERTIES_NAME,
    BadMetaProperties,
    MetaProperties,
    read_meta_properties,
)
from odradek.storage.formats.checkpoint import CheckpointError

from .known import Known, TopicFacts
from .partition_check import PartitionCheck
from .report import Findings, Report

_CHECKPOINTS: Final = (
    RECOVERY_POINTS_NAME,
    HIGH_WATERMARKS_NAME,
    LOG_STARTS_NAME,
    CLEANER_OFFSETS_NAME,
)
_COMPACTED: Final = ("__consumer_offsets", "__transaction_state")
_KRAFT_METADATA: Final = "__cluster_metadata-0"
_OURS: Final = (
    *_CHECKPOINTS,
    META_PROPERTIES_NAME,
    CLEAN_MARKER_NAME,
    LOCK_NAME,
    PROBE_NAME,
    RESERVE_NAME,
    _KRAFT_METADATA,
    "bootstrap.checkpoint",
    "remote-log-index-cache",
    "admin.sock",
    ".catalog.reserve",
)
_CATALOG = "catalog."  # the database, what SQLite keeps beside it, and the copy

_KIND_REASONS: Final = {
    DirectoryKind.DELETE: ("leftover", "a deleted partition; the next start ends it"),
    DirectoryKind.STRAY: ("stranger", "a stray partition; it is left alone"),
    DirectoryKind.FUTURE: ("leftover", "a replica that was being moved in"),
}


class DirectoryCheck:
    """Checks one log directory.

    ``topics`` are those of the catalogue, by name; None when there is no catalogue.
    """

    def __init__(self, files: Files, directory: Path, reads_records: bool) -> None:
        self._files = files
        self._directory = directory
        self.topics: Mapping[str, TopicFacts] | None = None
        self._reads_records = reads_records
        self.report = Report(directory, "directory")
        self.was_clean = files.exists(directory / CLEAN_MARKER_NAME)
        self.identity: MetaProperties | None = None
        self.partitions: dict[TopicPartition, Path] = {}
        self._offsets: dict[str, dict[TopicPartition, int]] = {}

    def prepare(self) -> None:
        """Read identity and checkpoints; comes before everything else."""
        self._read_identity()
        for name in _CHECKPOINTS:
            self._offsets[name] = self._read_checkpoint(name)

    def run(self, written: Iterable[TopicPartition] = ()) -> Iterator[Report]:
        """The reports of the partitions as they are checked, then the directory's.

        ``written`` are the partitions that must be here.
        """
        try:
            names = self._files.listdir(self._directory)
        except (OSError, KafkaStorageError) as error:
            self._findings.damage("unreadable", "", f"cannot be listed: {error}")
            names = []
        for name in names:
            self._sort(name)
        for topic_partition, path in sorted(self.partitions.items()):
            known = self.known_of(topic_partition)
            yield PartitionCheck(self._files, path, known, self._reads_records).run()
        self._tell_missing(written)
        yield self.report

    def known_of(self, topic_partition: TopicPartition) -> Known:
        """What checkpoints and catalogue say of a partition."""
        topic = topic_partition.topic
        facts = self.topics.get(topic) if self.topics is not None else None
        is_compacted = facts.is_compacted if facts is not None else None
        cleaned = self._offsets[CLEANER_OFFSETS_NAME]
        if topic in _COMPACTED or topic_partition in cleaned:
            is_compacted = True
        return Known(
            was_clean=self.was_clean,
            recovery_point=self._offsets[RECOVERY_POINTS_NAME].get(topic_partition),
            high_watermark=self._offsets[HIGH_WATERMARKS_NAME].get(topic_partition),
            log_start_offset=self._offsets[LOG_STARTS_NAME].get(topic_partition),
            is_compacted=is_compacted,
            topic_id=facts.topic_id if facts is not None else None,
        )

    @property
    def _findings(self) -> Findings:
        return self.report.findings

    def _read_identity(self) -> None:
        try:
            self.identity = read_meta_properties(self._files, self._directory)
        except (BadMetaProperties, OSError, KafkaStorageError) as error:
            self._findings.damage("identity", META_PROPERTIES_NAME, str(error))
            return
        if self.identity is None:
            self._findings.note("identity", META_PROPERTIES_NAME, "is missing")
        elif reason := why_unreadable(self.identity):
            self._findings.damage("format", META_PROPERTIES_NAME, f"it {reason}")

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(self._files, self._directory / name)
        except (CheckpointError, OSError, KafkaStorageError) as error:
            self._findings.damage("checkpoint", name, f"cannot be read: {error}")
            return {}

    def _sort(self, name: str) -> None:
        parsed = parse_directory_name(name)
        if parsed is None or name == _KRAFT_METADATA:
            if name.endswith(".tmp"):
                self._findings.note("leftover", name, "a file that was being replaced")
            elif name not in _OURS and not name.startswith(_CATALOG):
                self._findings.note("stranger", name, "is not one of ours; left alone")
            return
        if parsed.kind is not DirectoryKind.LOG:
            self._findings.note(*_reason(parsed.kind, name))
            return
        self.partitions[parsed.topic_partition] = self._directory / name
        topic = parsed.topic_partition.topic
        if self.topics is not None and topic not in self.topics:
            message = "its topic is not in the catalogue; it is left alone"
            self._findings.note("stranger", name, message)

    def _tell_missing(self, written: Iterable[TopicPartition]) -> None:
        for topic_partition in written:
            if topic_partition not in self.partitions:
                message = "was written to, the catalogue says, and has no directory"
                self._findings.damage("missing", str(topic_partition), message)
        for topic_partition in self._offsets[RECOVERY_POINTS_NAME]:
            if topic_partition not in self.partitions:
                self._findings.note(
                    "missing",
                    str(topic_partition),
                    f"is in {RECOVERY_POINTS_NAME}, and has no directory",
                )


def compare_identities(checks: Sequence[DirectoryCheck]) -> None:
    """Report directories that cannot be those of one broker."""
    first = next((check for check in checks if check.identity is not None), None)
    directory_ids: dict[bytes, Path] = {}
    for check in checks:
        if first is None or first.identity is None or check.identity is None:
            continue
        findings, path = check.report.findings, check.report.path
        ours, theirs = check.identity, first.identity
        if (ours.cluster_id, ours.node_id) != (theirs.cluster_id, theirs.node_id):
            findings.damage(
                "identity",
                META_PROPERTIES_NAME,
                f"belongs to node {ours.node_id} of cluster {ours.cluster_id}, but"
                f" {first.report.path} to node {theirs.node_id} of cluster"
                f" {theirs.cluster_id}",
            )
        if ours.directory_id is not None:
            other = directory_ids.setdefault(ours.directory_id, path)
            if other != path:
                message = f"has the directory id of {other}"
                findings.damage("identity", META_PROPERTIES_NAME, message)


def _reason(kind: DirectoryKind, name: str) -> tuple[str, str, str]:
    code, message = _KIND_REASONS[kind]
    return code, name, message
