"""The lock of a log directory: one broker at a time, and the others hear which."""

import fcntl
import os
from pathlib import Path
from typing import Final

LOCK_NAME: Final = ".lock"


class DirectoryInUse(Exception):
    """Another process holds the lock of a log directory."""


class DirectoryLock:
    """The hold that one process has on a log directory, until it lets go or dies.

    Two locks are taken on one file: that of ``flock``, which also keeps a second
    broker of the same process out, and that of ``lockf``, which is Apache Kafka's.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock.

        Raises:
            DirectoryInUse: it is held; the message names the process, if it is known.
        """
        path = directory / LOCK_NAME
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace")
            os.close(self._descriptor)
            process = f"process {holder.strip()}" if holder.strip() else "a process"
            raise DirectoryInUse(f"{directory} is in use by {process}") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let go. The file stays: removing it would race with the next holder."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
