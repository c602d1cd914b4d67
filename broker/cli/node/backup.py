"""``odradek backup``: a consistent copy of a broker's data, running or stopped.

A running broker is asked for a cut, which it holds with links until we hang up; the
copying is done here, so that the broker has nothing to do with it. Of a stopped one we
have the locks as long as it takes.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.config.options.error import OptionError
from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser
from odradek.terminal.progress import Progress
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.storage.backup.manifest import Manifest
    from odradek.storage.backup.plan import BackupPlan
    from odradek.storage.backup.writing import BackupWriter
    from odradek.storage.files.files import Files

_COMMAND = "backup"
# It was made, and is not all that it should be.
DAMAGED = 3
_NICENESS = 10
_SHOWN_MAX = 20
_EXAMPLES = (
    "odradek backup --data-dir /var/lib/odradek /backups/monday",
    "odradek backup --config server.properties /backups/monday --json",
)


class NoBackup(Exception):
    """It cannot be made; the message says why."""


def command(arguments: list[str]) -> int:
    """Make a consistent copy of a broker's data, while it runs."""
    options = _parser().parse(arguments)
    try:
        config = _config(options)
        check_target(options.target, [*config.log_dirs, config.catalog_directory])
    except (OptionError, NoBackup) as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    from odradek.broker.cli.admin.admin_client import AdminRefusal
    from odradek.protocol.errors import KafkaStorageError
    from odradek.storage.backup.manifest import BadBackup
    from odradek.storage.backup.writing import PARTIAL

    os.nice(_NICENESS)
    try:
        return _backup(config, options)
    except FileNotFoundError as error:
        partial = options.target.with_name(options.target.name + PARTIAL)
        if partial in (Path(error.filename or ""), *Path(error.filename or "").parents):
            told = f"{options.target} cannot be made: {error.strerror}"
            return fail(_COMMAND, FAILED, told)
        return fail(
            _COMMAND,
            FAILED,
            f"{error.filename or error} has gone: the broker has stopped, or let go of"
            " what it held; nothing was made",
        )
    except (AdminRefusal, NoBackup, BadBackup, KafkaStorageError) as error:
        return fail(_COMMAND, FAILED, printable(str(error)))
    except OSError as error:
        return fail(_COMMAND, FAILED, f"{error.filename}: {error.strerror or error}")


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Make a consistent copy of a broker's data in TARGET: everything that was"
        " acknowledged before it began. The broker may run. Exit code: 0 made, 1 not"
        " made, 2 usage, 3 made, but there was damage, or partitions are missing.",
        _EXAMPLES,
    )
    parser.add_argument(
        "target",
        type=Path,
        metavar="TARGET",
        help="the directory to make; it does not exist, or is empty",
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", help="where the broker's data lives: ./data"
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the broker's properties file"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _config(options: argparse.Namespace) -> BrokerConfig:
    from odradek.broker.config.settings import Flags
    from odradek.broker.config.sources import load

    flags = Flags(data_dir=options.data_dir)
    return load(options.config, os.environ, [], flags).config


def check_target(target: Path, directories: Sequence[Path]) -> None:
    """See that a backup may be made at ``target``.

    Raises:
        NoBackup: something is there, or it is inside of what is to be copied.
    """
    place = target.resolve()
    for directory in map(Path.resolve, directories):
        if place == directory or directory in place.parents:
            raise NoBackup(f"{target} is inside of the data directory {directory}")
    try:
        there = sorted(os.listdir(target))
    except FileNotFoundError:
        return
    except OSError as error:
        raise NoBackup(f"{target}: {error.strerror}") from None
    if there:
        raise NoBackup(f"{target} is not empty: it has {there[0]}")
    if target.is_mount():
        raise NoBackup(f"{target} is a mount point; name a directory in it")


def _backup(config: BrokerConfig, options: argparse.Namespace) -> int:
    from odradek.storage.backup.writing import BackupWriter
    from odradek.storage.files.files import OsFiles

    began, files = time.monotonic(), OsFiles()
    target: Path = options.target.absolute()
    with ExitStack() as held:
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        plan = _plan(config, files, held)
        writer = BackupWriter(files, plan, target)
        try:
            writer.begin()
            _check_room(plan, writer.partial)
            progress = Progress()
            writer.copy(_shown(progress))
            progress.end()
            manifest = _finish(writer, plan, made)
        except BaseException:
            writer.abandon()
            raise
    elapsed_s = time.monotonic() - began
    return _report(manifest, writer.linked_size, elapsed_s, options)


def _shown(progress: Progress) -> Any:
    done = 0

    def note(size: int) -> None:
        nonlocal done
        done += size
        progress.flow("copied", 0, done)

    return note


def _plan(config: BrokerConfig, files: Files, held: ExitStack) -> BackupPlan:
    """What to copy; ``held`` keeps it as it is."""
    from odradek.storage.backup.plan import plan_stopped
    from odradek.storage.directory.log_directory import DirectoryInUse, DirectoryLock
    from odradek.storage.files.meta_properties import read_meta_properties

    catalog_directory = config.catalog_directory
    for directory in (*config.log_dirs, catalog_directory):
        if not directory.is_dir():
            raise NoBackup(f"{directory} is not there; --data-dir says where it lives")
    locks = dict.fromkeys(map(Path.resolve, (catalog_directory, *config.log_dirs)))
    try:
        for directory in locks:
            held.callback(DirectoryLock(directory).release)
    except DirectoryInUse:
        held.close()  # of those that we have
        return _plan_running(catalog_directory, files, held)
    identity = read_meta_properties(files, config.log_dirs[0])
    if identity is None:
        raise NoBackup(f"{config.log_dirs[0]} is not a broker's data directory")
    directories = [each.absolute() for each in config.log_dirs]
    return plan_stopped(
        files,
        directories,
        catalog_directory.absolute(),
        (identity.cluster_id, identity.node_id),
    )


def _plan_running(directory: Path, files: Files, held: ExitStack) -> BackupPlan:
    from odradek.broker.cli.admin.admin_client import AdminRefusal, ask
    from odradek.storage.backup.plan import plan_running

    items = ask(directory, {"request": _COMMAND})
    held.callback(items.close)
    cut: dict[str, Any] = {}
    partitions: list[dict[str, Any]] = []
    for item in items:
        if "held" in item:
            return plan_running(files, cut, partitions)
        if "cut" in item:
            cut = item["cut"]
        else:
            partitions.append(item["partition"])
    raise AdminRefusal("the broker has held nothing")


def _check_room(plan: BackupPlan, target: Path) -> None:
    from odradek.broker.replica.logs.free_space import free_bytes

    device, wanted = target.stat().st_dev, 0
    for each in plan.files:
        status = each.source.stat()
        if not (each.is_closed and status.st_dev == device):
            wanted += status.st_size if each.size is None else each.size
    room = free_bytes(target)
    if wanted > room:
        raise NoBackup(
            f"{target.parent} has room for {room} bytes, and {wanted} are to be copied"
        )


def _finish(writer: BackupWriter, plan: BackupPlan, made: str) -> Manifest:
    import odradek
    from odradek.broker.metadata.catalog.check import read_catalog
    from odradek.storage.backup.manifest import Damage
    from odradek.storage.backup.writing import Made
    from odradek.storage.fsck.report import Findings, Severity

    findings = Findings()
    view = read_catalog(writer.partial / "0", findings, is_in_use=False)
    examined = writer.examine(None if view is None else view.topics)
    for finding in findings:
        if finding.severity is Severity.DAMAGE:
            path = f"0/{finding.file}"
            examined.damage.append(Damage(path, finding.code, finding.message))
    if view is None:
        examined.damage.append(Damage("0", "catalogue", "there is none to be used"))
    else:
        there = {each.topic_partition for each in plan.partitions}
        for place in view.written:
            if place not in there:
                plan.missing.setdefault(str(place), "it has no directory")
    return writer.finish(examined, Made(odradek.__version__, made))


def _report(
    manifest: Manifest, linked: int, elapsed_s: float, options: argparse.Namespace
) -> int:
    tell_of_faults(_COMMAND, manifest)
    if options.json:
        print_json(
            {
                "target": str(options.target),
                "clusterId": manifest.cluster_id,
                "made": manifest.made,
                "partitions": len(manifest.partitions),
                "files": len(manifest.files),
                "bytes": manifest.size,
                "linkedBytes": linked,
                "elapsedMs": round(elapsed_s * 1000),
                "damage": len(manifest.damage),
                "missing": len(manifest.missing),
            }
        )
    else:
        print(
            f"{options.target}: {count_of_partitions(manifest)},"
            f" {len(manifest.files)} files, {manifest.size} bytes ({linked} of them"
            f" linked), {elapsed_s:.1f} s; cluster {manifest.cluster_id}"
        )
    return DAMAGED if manifest.damage or manifest.missing else 0


def count_of_partitions(manifest: Manifest) -> str:
    """How many there are, in words."""
    count = len(manifest.partitions)
    return "1 partition" if count == 1 else f"{count} partitions"


def tell_of_faults(name: str, manifest: Manifest) -> None:
    """Say on standard error what is damaged, and what is not in a backup."""
    lines = [f"damaged: {each.path}: {each.message}" for each in manifest.damage]
    lines += [
        f"not in the backup: {place}: {why}" for place, why in manifest.missing.items()
    ]
    for line in lines[:_SHOWN_MAX]:
        fail(name, DAMAGED, printable(line))
    if len(lines) > _SHOWN_MAX:
        more = len(lines) - _SHOWN_MAX
        fail(name, DAMAGED, f"and more like these ({more}); manifest.json has them")
