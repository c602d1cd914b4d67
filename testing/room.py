"""Where brokers for tests keep their data: in memory, where there is room for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from .errors import BrokerError

_MEMORY = Path("/dev/shm")
_MEMORY_ROOM_BYTES = 1 << 30


def room(memory: Path = _MEMORY, needed_bytes: int = _MEMORY_ROOM_BYTES) -> Path:
    """A file system in memory that has so much free, or else that of temporary files.

    Raises:
        BrokerError: there is neither.
    """
    try:
        if shutil.disk_usage(memory).free >= needed_bytes and _is_ours(memory):
            return memory
    except OSError:
        pass  # there is none
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise _no_directory(error) from None


def new_directory(parent: Path, start: str = "odradek-") -> Path:
    """One that nobody has, for this user alone.

    Raises:
        BrokerError: it cannot be made.
    """
    try:
        return Path(tempfile.mkdtemp(prefix=start, dir=parent))
    except OSError as error:
        raise _no_directory(error) from None


def _is_ours(directory: Path) -> bool:
    return os.access(directory, os.W_OK | os.X_OK)


def _no_directory(error: OSError) -> BrokerError:
    return BrokerError(
        f"no directory for the broker's data can be made: {error} "
        "(TMPDIR says where to)"
    )
