"""``odradek restore``: data directories are made of a backup, or it is checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser
from odradek.terminal.progress import Progress
from odradek.terminal.table import printable

from .backup import DAMAGED, count_of_partitions, tell_of_faults

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.storage.backup.manifest import Manifest
    from odradek.storage.backup.restoring import Restore
    from odradek.storage.files.files import Files

_COMMAND = "restore"
# The broker that the backup was made of has given some away since.
_PRODUCER_IDS_SKIPPED = 1_000_000
_EXAMPLES = (
    "odradek restore /backups/monday --check",
    "odradek restore /backups/monday --data-dir /var/lib/odradek",
)


def command(arguments: list[str]) -> int:
    """Make data directories of a backup, or check it."""
    parser = _parser()
    options = parser.parse(arguments)
    if options.data_dir is None and not options.check:
        parser.error("where to? --data-dir names it; --check only compares")
    from odradek.broker.metadata.catalog.store import CatalogError
    from odradek.protocol.errors import KafkaStorageError
    from odradek.storage.backup.manifest import BadBackup, read_manifest
    from odradek.storage.files.files import OsFiles

    files = OsFiles()
    try:
        manifest = read_manifest(files, options.backup)
        tell_of_faults(_COMMAND, manifest)
        if options.check:
            return _check(files, manifest, options)
        return _restore(files, manifest, options)
    except (BadBackup, KafkaStorageError, CatalogError) as error:
        return fail(_COMMAND, FAILED, printable(str(error)))
    except OSError as error:
        return fail(_COMMAND, FAILED, f"{error.filename}: {error.strerror or error}")


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Make data directories of a backup: every byte is compared with its checksum,"
        " and the result is checked as fsck does. Exit code: 0 done, 1 the backup"
        " cannot be used, 2 usage, 3 done, but it was damaged or incomplete when it"
        " was made.",
        _EXAMPLES,
    )
    parser.add_argument("backup", type=Path, metavar="BACKUP")
    parser.add_argument(
        "--data-dir",
        type=_paths,
        metavar="DIR[,DIR]",
        help="where the data is to live: empty, or not there; one for all of it, or as"
        " many as there were",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the backup with its manifest, and write nothing",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _paths(text: str) -> list[Path]:
    return [Path(part.strip()) for part in text.split(",") if part.strip()]


def _check(files: Files, manifest: Manifest, options: argparse.Namespace) -> int:
    from odradek.storage.backup.restoring import Restore, faults_of

    if options.data_dir:
        Restore(files, options.backup, manifest, options.data_dir).check()
    faults = list(faults_of(files, options.backup, manifest))
    for fault in faults:
        fail(
            _COMMAND,
            FAILED,
            printable(f"{options.backup}/{fault.path} {fault.message}"),
        )
    if options.json:
        print_json({**_sums(manifest), "faults": [each._asdict() for each in faults]})
    elif not faults:
        print(f"{options.backup}: {_described(manifest)}: all as it was written")
    if faults:
        return FAILED
    return DAMAGED if manifest.damage or manifest.missing else 0


def _restore(files: Files, manifest: Manifest, options: argparse.Namespace) -> int:
    from odradek.storage.backup.restoring import Restore

    restore = Restore(files, options.backup, manifest, options.data_dir)
    try:
        restore.check()
    except NotADirectoryError:
        return fail(_COMMAND, USAGE_ERROR, "--data-dir names a file")
    progress, done = Progress(), 0

    def note(size: int) -> None:
        nonlocal done
        done += size
        progress.flow("restored", 0, done)

    try:
        restore.run(note)
        progress.end()
        _mend_catalog(restore, manifest)
        damage = _examine(restore.targets)
        restore.finish()
    except BaseException:
        restore.abandon()
        raise
    for line in damage:
        fail(_COMMAND, DAMAGED, printable(line))
    if options.json:
        targets = [str(each) for each in options.data_dir]
        print_json({**_sums(manifest), "dataDirs": targets, "damage": len(damage)})
    else:
        where = ",".join(map(str, options.data_dir))
        print(f"{where}: {_described(manifest)}")
        print(
            f"it is cluster {manifest.cluster_id}, node {manifest.node_id}, like the"
            " broker that it was made from: do not let both serve the same clients"
        )
        print(f"start with: odradek serve --data-dir {where}")
    return DAMAGED if damage or manifest.missing else 0


def _mend_catalog(restore: Restore, manifest: Manifest) -> None:
    """Tell the catalogue where the partitions are, and which producer ids are free."""
    from odradek.broker.metadata.catalog.recovery import BACKUP, open_store

    directory = restore.targets[0]
    places = {
        (each.topic, each.partition): each.directory for each in manifest.partitions
    }
    store = open_store(directory)
    try:
        names = {topic.topic_id: topic.name for topic in store.topics()}
        rows = []
        for row in store.partitions():
            number = places.get((names.get(row.topic_id, ""), row.partition))
            # With one directory there is nothing to say, wherever it is moved to.
            is_named = number is not None and len(restore.targets) > 1
            where = str(restore.targets[number or 0]) if is_named else None
            rows.append(row._replace(log_dir=where))
        store.put_partitions(rows)
        store.take_producer_ids(_PRODUCER_IDS_SKIPPED)
        store.copy_to(directory / BACKUP)
    finally:
        store.close()


def _examine(targets: Sequence[Path]) -> list[str]:
    """What fsck calls damage in the restored directories."""
    from odradek.storage.fsck.report import Severity

    from .fsck import Target, check

    return [
        f"{report.path}: {finding.file}: {finding.message}"
        for report in check(
            [Target(each, is_partition=False) for each in targets], False
        )
        for finding in report.findings
        if finding.severity is Severity.DAMAGE and finding.code != "format"
    ]


def _described(manifest: Manifest) -> str:
    return (
        f"backup of {manifest.made} by odradek {manifest.odradek},"
        f" {count_of_partitions(manifest)}, {manifest.size} bytes"
    )


def _sums(manifest: Manifest) -> dict[str, object]:
    return {
        "made": manifest.made,
        "odradek": manifest.odradek,
        "clusterId": manifest.cluster_id,
        "nodeId": manifest.node_id,
        "partitions": len(manifest.partitions),
        "files": len(manifest.files),
        "bytes": manifest.size,
    }
