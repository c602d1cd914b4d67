"""Who holds the lock of a log directory, asked without taking it."""

import fcntl
import os
import sys
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Final

_LOCK_NAME: Final = ".lock"
# struct flock of 64-bit systems: type, whence, start, length, pid; on macOS and the
# BSDs start, length, pid, type, whence.
_IS_LINUX = sys.platform == "linux"
_FLOCK = Struct("@hhqqi4x" if _IS_LINUX else "@qqihh")


def lock_holder(directory: Path) -> int | None:
    """The process that holds the lock of ``directory``; None when nobody does.

    The lock asked for is that of ``lockf``, which Apache Kafka takes, too. Not to be
    asked by the process that may hold it: it sees no lock, and loses the one it has.
    """
    try:
        descriptor = os.open(directory / _LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, _question())
        return _holder(answer)
    except (OSError, StructError):
        return None
    finally:
        os.close(descriptor)


def _question() -> bytes:
    if _IS_LINUX:
        return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    return _FLOCK.pack(0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)


def _holder(answer: bytes) -> int | None:
    fields = _FLOCK.unpack(answer)
    lock_type, pid = (fields[0], fields[4]) if _IS_LINUX else (fields[3], fields[2])
    return None if lock_type == fcntl.F_UNLCK else int(pid)
