"""Snapshots of brokers: directories from which others are started, and to go back to.

A fork has the small files for itself. The segments, which are sealed, it shares with
the snapshot where the file system can: the broker changes none that has two names.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import BadSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from .broker import Broker

FORMAT = 1
_DESCRIPTION = "snapshot.json"
_PARTIAL = ".partial"
_FICLONE = 0x4004_9409  # of Linux; `fcntl` names it from Python 3.12 on


class Snapshot:
    """A directory that `Broker.snapshot` has made; ``path`` can be kept and committed.

    Without a path of its own it is removed when nobody refers to it any more.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """See that it is one that can be used, and whole.

        Raises:
            BadSnapshot: it is not; the message says why.
        """
        self.path = Path(path).absolute()
        described = _described(self.path)
        try:
            self._sealed = frozenset(described["sealed"])
            self._sizes = dict(described["files"])
            is_ours = all(Path(name).parts[0] == "0" for name in self._sizes)
            is_inside = not any(".." in Path(name).parts for name in self._sizes)
        except (KeyError, TypeError, ValueError, IndexError):
            is_ours = is_inside = False
        if not (is_ours and is_inside):
            raise _half(self.path, f"{_DESCRIPTION} makes no sense")
        for name, size in self._sizes.items():
            try:
                found = os.stat(self.path / name).st_size
            except OSError:
                raise _half(self.path, f"{name} is missing") from None
            if found != size:
                raise _half(self.path, f"{name} has {found} bytes, and had {size}")

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Snapshot({str(self.path)!r})"

    def fork(self, data_dir: Path) -> None:
        """Fill a new directory, in which a broker can be started.

        Raises:
            BadSnapshot: it cannot be read, or there is no room.
        """
        share = _Sharing()
        try:
            data_dir.mkdir(parents=True)
            for name in self._sizes:
                target = data_dir.joinpath(*Path(name).parts[1:])
                target.parent.mkdir(exist_ok=True)
                if name not in self._sealed or not share(self.path / name, target):
                    shutil.copyfile(self.path / name, target)
        except OSError as error:
            shutil.rmtree(data_dir, ignore_errors=True)
            raise BadSnapshot(f"{self.path} cannot be forked: {error}") from None


def take(broker: Broker, path: str | os.PathLike[str] | None) -> Snapshot:
    """What the broker holds now."""
    if path is not None:
        target = Path(path).absolute()
        broker.ask("snapshot", path=str(target))
        return Snapshot(target)
    # Beside the broker's own directory: there its files can be shared.
    home = tempfile.mkdtemp(prefix="odradek-snapshot-", dir=broker.directory.parent)
    try:
        target = Path(home) / "snapshot"
        broker.ask("snapshot", path=str(target))
        snapshot = Snapshot(target)
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    weakref.finalize(snapshot, _remove, home, os.getpid())
    return snapshot


def data_dir_in(directory: Path, snapshot: Snapshot | None) -> Path:
    """The data directory of a broker, in a new one of its own; maybe with data in it.

    Raises:
        BadSnapshot: it cannot be forked; the directory is gone.
    """
    data_dir = directory / "data"
    if snapshot is not None:
        try:
            snapshot.fork(data_dir)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    return data_dir


def swap(data_dir: Path, snapshot: Snapshot, between: Callable[[], None]) -> None:
    """Let a directory hold what the snapshot does; ``between``: nobody may use it."""
    new, old = (data_dir.with_name(f"{data_dir.name}.{end}") for end in ("new", "old"))
    shutil.rmtree(new, ignore_errors=True)
    snapshot.fork(new)
    between()
    if data_dir.exists():
        data_dir.rename(old)
    new.rename(data_dir)
    shutil.rmtree(old, ignore_errors=True)


def opened(snapshot: Snapshot | str | os.PathLike[str]) -> Snapshot:
    """The snapshot, or the one at a path.

    Raises:
        BadSnapshot: there is none that can be used.
    """
    return snapshot if isinstance(snapshot, Snapshot) else Snapshot(snapshot)


def _described(path: Path) -> dict[str, Any]:
    try:
        text = (path / _DESCRIPTION).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path) from None
    except OSError as error:
        raise BadSnapshot(f"{path} cannot be read: {error}") from None
    try:
        content = json.loads(text)
        number = content["snapshot_format"]
        if number > FORMAT:
            raise BadSnapshot(
                f"{path} has snapshot format {number}, written by odradek "
                f"{content.get('odradek')}; this one reads formats up to {FORMAT}"
            )
        if content["directories"] != 1:
            raise BadSnapshot(
                f"{path} has {content['directories']} log directories; a broker for "
                "tests has one"
            )
    except (ValueError, KeyError, TypeError):
        raise _half(path, f"{_DESCRIPTION} makes no sense") from None
    return dict(content)


def _missing(path: Path) -> BadSnapshot:
    if path.with_name(path.name + _PARTIAL).exists() and not path.exists():
        return _half(path, f"there is only {path.name}{_PARTIAL}")
    if not path.exists():
        return BadSnapshot(f"there is no snapshot at {path}")
    return _half(path, f"it has no {_DESCRIPTION}")


def _half(path: Path, why: str) -> BadSnapshot:
    return BadSnapshot(f"{path} is not a whole snapshot: {why}")


class _Sharing:
    """Gives a file's bytes to another name: a reflink, else a link; False: neither."""

    def __init__(self) -> None:
        self._ways = [_clone, _link]

    def __call__(self, source: Path, target: Path) -> bool:
        while self._ways:
            if self._ways[0](source, target):
                return True
            del self._ways[0]  # what fails for one fails for all
        return False


def _clone(source: Path, target: Path) -> bool:
    import fcntl

    try:
        with source.open("rb") as origin, target.open("xb") as copy:
            fcntl.ioctl(copy.fileno(), _FICLONE, origin.fileno())
    except OSError:
        target.unlink(missing_ok=True)
        return False
    return True


def _link(source: Path, target: Path) -> bool:
    if not os.access(source, os.W_OK):  # a broker opens it to read and to write
        return False
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def _remove(home: str, owner: int) -> None:
    if os.getpid() == owner:  # and not a child that was forked
        shutil.rmtree(home, ignore_errors=True)
