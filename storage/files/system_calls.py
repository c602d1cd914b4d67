"""What the files of the system need beyond one call: syncs, links, own copies.

Invariant: a file with more than one link is never changed in place: not cut, not
written over, not appended to. The other name is that of a backup or of a snapshot, and
what it has must stay. Such a file is first copied, and the copy takes its name
(`own_copy`). Who appends asks that once, when the file is opened, and again when it was
sealed: a backup of a log that grows has a link, and knows how much of it to read.
"""

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .descriptor import Descriptor
from .file_system import MISSING, StorageFailure, failure

_CHUNK_SIZE: Final = 1 << 20
_FICLONE: Final = 0x4004_9409  # of Linux; `fcntl` names it from Python 3.12 on
_OWN_SUFFIX: Final = ".tmp"  # what is left of it is removed when the log is opened
# Another file system, none that knows links, or a file that has too many of them.
_NO_LINK: Final = frozenset(
    {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of the system into those of storage; a missing file passes."""
    try:
        yield
    except MISSING:
        raise
    except OSError as error:
        raise failure(path, error) from error


def full_sync(number: int) -> None:
    """``fdatasync``, and where that promises too little what promises more."""
    if sys.platform == "darwin":
        fcntl.fcntl(number, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(number)


def sync_directory(path: Path) -> None:
    """``fsync`` of a directory."""
    with translated(path):
        held = Descriptor(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    try:
        os.fsync(held.number)
    except OSError as error:
        raise StorageFailure(f"sync of directory {path} failed") from error


def link(source: Path, target: Path) -> bool:
    """Give a file another name; False where the file system cannot."""
    with translated(source):
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            return False
    return True


def clone(source: Path, target: Path) -> bool:
    """Make ``target`` a file that shares the bytes of another until either changes.

    False where the file system cannot, and when the source is not there.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        origin = Descriptor(os.open(source, os.O_RDONLY | os.O_CLOEXEC))
        copy = Descriptor(os.open(target, flags, 0o644))
    except OSError:
        return False
    try:
        fcntl.ioctl(copy.number, _FICLONE, origin.number)
    except OSError:
        target.unlink()
        return False
    return True


def warm(path: Path, position: int, size: int) -> None:
    """Read a range into the page cache, through a descriptor of its own."""
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        file.seek(position)
        scratch = bytearray(min(size, _CHUNK_SIZE))
        while size > 0 and (count := file.readinto(scratch)):
            size -= count


def own_copy(path: Path, held: Descriptor, size: int) -> Descriptor:
    """A descriptor of the file at ``path`` that has no other name.

    Mostly that is ``held``. If not, its first ``size`` bytes are copied, and the copy
    takes the name, durably: a sync of it must not be of a file that a power cut
    leaves without one. Waits for the disk.

    Raises:
        OSError: nothing has changed.
    """
    if os.fstat(held.number).st_nlink <= 1:
        return held
    temporary = path.with_name(path.name + _OWN_SUFFIX)
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    own = Descriptor(os.open(temporary, flags, 0o644))
    try:
        _copy(held.number, own.number, size)
        full_sync(own.number)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    return own


def _copy(source: int, target: int, size: int) -> None:
    position = 0
    while position < size:
        data = os.pread(source, min(_CHUNK_SIZE, size - position), position)
        if not data:
            break
        position += os.pwrite(target, data, position)
