"""Snapshots of all that the broker holds, to go back to or to start others from.

``snapshot`` (``path``: an absolute one, which is not taken): an item with its ``path``,
how many ``files`` and ``bytes`` it has, and how many bytes are ``shared`` with the
broker's own files. What was acknowledged before is in it, and nothing is half in it.
Not in it: members of groups, fetch sessions, connections.
"""

from __future__ import annotations

import time
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import odradek
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.backup.snapshot import SnapshotWriter, plan_snapshot
from odradek.storage.backup.writing import Made

from .fields import Fields, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.broker.operate.backups import Backups
    from odradek.broker.requests.services import Services
    from odradek.storage.backup.snapshot import Written
    from odradek.storage.files.files import Files


def snapshot_requests(services: Services, backups: Backups) -> dict[str, AdminRequest]:
    """What answers it."""

    async def snapshot(request: Request) -> Items:
        fields = Fields(request)
        path = Path(fields.text("path"))
        fields.end()
        if not path.is_absolute():
            raise refusal(f"path is {str(path)!r}; it is an absolute one")
        files = services.log_manager.files
        await services.disk_threads.run(_check_free, files, path)
        held: list[Mapping[str, Any]] = []
        cut: Mapping[str, Any] = {}
        async with aclosing(backups.hold(rolls=True)) as items:
            async for item in items:
                if "held" in item:
                    break
                cut = item.get("cut", cut)
                held += [item["partition"]] if "partition" in item else []
            _check_whole(cut)
            made = Made(odradek.__version__, _text(services.clock.now_ms()))
            written = await services.disk_threads.run(
                _write, files, cut, held, path, made
            )
        yield {
            "path": str(path),
            "files": written.file_count,
            "bytes": written.size,
            "shared": written.shared_size,
        }

    return {"snapshot": snapshot}


def _check_free(files: Files, path: Path) -> None:
    try:
        is_taken = files.exists(path) and bool(files.listdir(path))
    except (KafkaStorageError, OSError):
        is_taken = True
    if is_taken:
        raise AdminError("taken", f"no snapshot: {path} is taken")


def _check_whole(cut: Mapping[str, Any]) -> None:
    """What a broker has lost is not to be missed in a fork of it only."""
    for name, why in cut["missing"].items():
        raise AdminError("failed", f"no snapshot: {name}: {why}")


def _write(
    files: Files,
    cut: Mapping[str, Any],
    held: list[Mapping[str, Any]],
    path: Path,
    made: Made,
) -> Written:
    try:
        files.mkdir(path.parent)
        writer = SnapshotWriter(files, plan_snapshot(files, cut, held), path)
        try:
            return writer.write(made)
        except BaseException:
            with suppress(KafkaStorageError, OSError):
                writer.abandon()
            raise
    except (KafkaStorageError, OSError) as error:
        why = getattr(error, "strerror", None)
        said = f"{path}: {why}" if why else error
        raise AdminError("failed", f"no snapshot: {said}") from error


def _text(moment_ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment_ms / 1000))
