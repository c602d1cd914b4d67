"""``odradek fsck``: whether log directories are sound. Changes nothing."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument
from odradek.terminal.pipe import quiet_pipe

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from odradek.broker.metadata.catalog.check import CatalogView
    from odradek.storage.fsck.report import Findings, Report

DAMAGED = 1
_COMMAND = "fsck"
_ASK_TIMEOUT_S = 5.0


class Target(NamedTuple):
    """A directory to check: a log directory, or one partition's."""

    path: Path
    is_partition: bool


_EXAMPLES = (
    "odradek fsck data",
    "odradek fsck data --deep --json",
)


def command(arguments: list[str]) -> int:
    """Check log directories without changing them, and say what is wrong."""
    options = _parser().parse(arguments)
    targets: list[Target] = []
    for path in options.directory:
        found, wrong = find_targets(path)
        if wrong is not None:
            return fail(_COMMAND, USAGE_ERROR, wrong)
        targets += found
    with quiet_pipe():
        return _check(targets, options)


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Check log directories without changing them, and say what is wrong. "
        "Exit code: 0 sound, 1 damage found, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "directory",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="a data directory, a log directory, or the directory of a partition",
    )
    json_argument(parser, "one JSON object a line, with a type")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="open every batch and check its records, too",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="say nothing of what is sound"
    )
    return parser


def find_targets(path: Path) -> tuple[list[Target], str | None]:
    """What to check at ``path``, or why there is nothing."""
    from odradek.storage.directory.log_directory import parse_directory_name

    path = Path(path.resolve()) if path.name in ("", ".", "..") else path
    try:
        children = sorted(path.iterdir())
    except FileNotFoundError:
        return [], f"{path} is not there"
    except NotADirectoryError:
        return [], f"{path} is not a directory; odradek dump-log shows files"
    except OSError as error:
        return [], f"{path} cannot be read: {error.strerror}"
    names = {child.name for child in children}
    parsed = parse_directory_name(path.name)
    if parsed is not None and any(map(_is_of_partition, names)):
        return [Target(path, is_partition=True)], None
    if _is_log_directory(path):
        return [Target(path, is_partition=False)], None
    below = [child for child in children if child.is_dir() and _is_log_directory(child)]
    if below:
        return [Target(child, is_partition=False) for child in below], None
    return [], f"{path} is neither a log directory nor that of a partition"


def _is_of_partition(name: str) -> bool:
    return name.endswith(".log") or name in (
        "partition.metadata",
        "leader-epoch-checkpoint",
    )


def _is_log_directory(path: Path) -> bool:
    from odradek.storage.directory.log_directory import parse_directory_name

    names = [child.name for child in path.iterdir()]
    if "meta.properties" in names or "recovery-point-offset-checkpoint" in names:
        return True
    return any(
        parse_directory_name(name) is not None and (path / name).is_dir()
        for name in names
    )


def _check(targets: Sequence[Target], options: argparse.Namespace) -> int:
    from odradek.storage.fsck.line import (
        Total,
        json_line,
        text_lines,
        total_json,
        total_text,
    )
    from odradek.storage.fsck.report import Severity

    total = Total()
    for report in check(targets, options.deep):
        total.add(report)
        if options.quiet and not report.findings.count(Severity.DAMAGE):
            continue
        lines = [json_line(report)] if options.json else text_lines(report)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    print(total_json(total) if options.json else total_text(total))
    return DAMAGED if total.damage else 0


def check(targets: Sequence[Target], reads_records: bool) -> Iterator[Report]:
    """The reports on all targets, as they are made."""
    from odradek.storage.files.read_only_files import ReadOnlyFiles
    from odradek.storage.fsck.directory_check import DirectoryCheck, compare_identities

    files = ReadOnlyFiles()
    checks = [
        DirectoryCheck(files, target.path, reads_records)
        for target in targets
        if not target.is_partition
    ]
    for one in checks:
        one.prepare()
    compare_identities(checks)
    views = [view for one in checks if (view := _catalog(one)) is not None]
    for one in checks:
        if views:
            one.topics = views[0].topics
        yield from one.run(_written(views[0], one, checks) if views else ())
    for target in targets:
        if target.is_partition:
            yield _check_partition(target.path, reads_records)


def _check_partition(path: Path, reads_records: bool) -> Report:
    """One partition, with what the log directory around it says of it."""
    from odradek.storage.directory.log_directory import (
        DirectoryKind,
        parse_directory_name,
    )
    from odradek.storage.files.read_only_files import ReadOnlyFiles
    from odradek.storage.fsck.directory_check import DirectoryCheck
    from odradek.storage.fsck.known import Known
    from odradek.storage.fsck.partition_check import PartitionCheck

    around = DirectoryCheck(ReadOnlyFiles(), path.absolute().parent, reads_records)
    around.prepare()
    view = _catalog(around)
    around.topics = view.topics if view is not None else None
    parsed = parse_directory_name(path.name)
    assert parsed is not None, path
    known = Known()
    if parsed.kind is DirectoryKind.LOG:
        known = around.known_of(parsed.topic_partition)
    report = PartitionCheck(ReadOnlyFiles(), path, known, reads_records).run()
    for finding in around.report.findings:
        is_of_it = (finding.code, finding.file) == ("uncleanable", path.name)
        if finding.code == "in-use" or is_of_it:
            report.findings.add(*finding)
    return report


def _catalog(one: DirectoryCheck) -> CatalogView | None:
    from odradek.storage.fsck.lock_holder import lock_holder

    directory, findings = one.report.path, one.report.findings
    holder = lock_holder(directory)
    if holder is not None:
        message = f"process {holder} is using the directory: what it writes now is not"
        findings.note("in-use", ".lock", f"{message} all there yet")
        _note_uncleanable(directory, findings)
    if not any((directory / name).exists() for name in _CATALOG_NAMES):
        return None
    from odradek.broker.metadata.catalog.check import read_catalog

    return read_catalog(directory, findings, holder is not None)


def _note_uncleanable(directory: Path, findings: Findings) -> None:
    """Add the logs that the running broker cannot compact: only it knows them."""
    from odradek.broker.cli.admin.admin_client import AdminRefusal, ask

    # Apache Kafka has no such socket, and one that is stuck has no time.
    with suppress(AdminRefusal, OSError):
        for each in ask(directory, {"request": "uncleanable"}, _ASK_TIMEOUT_S):
            name = f"{each['topic']}-{each['partition']}"
            message = f"the running broker cannot compact it: {each['reason']}"
            findings.note("uncleanable", name, message)


def _written(
    view: CatalogView, one: DirectoryCheck, checks: Sequence[DirectoryCheck]
) -> list[TopicPartition]:
    """The partitions that must have a directory in this log directory."""
    path = one.report.path.resolve()
    others = {other.report.path.resolve() for other in checks} - {path}
    first = checks[0] is one
    return [
        topic_partition
        for topic_partition, named in view.written.items()
        if (named is None and first)
        or (named is not None and Path(named).resolve() == path)
        or (named is not None and not others and not Path(named).exists())
    ]


_CATALOG_NAMES = ("catalog.db", "catalog.backup")

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.fsck.directory_check import DirectoryCheck
