"""Room on a disk that is kept for the moment when there is none left.

A file that means nothing takes it, until something small must be written that cannot
wait: the checkpoint that lets a client's deletion of records be answered, say.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import MISSING, DiskFull, Files

RESERVE_NAME: Final = ".odradek.reserve"
RESERVE_BYTES: Final = 64 << 10
PROBE_NAME: Final = ".odradek.probe"
_PROBE_BYTES: Final = 4 << 10


class DiskReserve:
    """The file in one directory."""

    def __init__(self, files: Files, directory: Path, name: str = RESERVE_NAME) -> None:
        self._files = files
        self._path = directory / name
        self._is_kept = False

    def keep(self) -> None:
        """Take the room, if there is any and it is not taken yet."""
        if self._is_kept:
            return
        with suppress(KafkaStorageError, *MISSING):
            file = self._files.open(self._path, create=True)
            try:
                if file.size < RESERVE_BYTES:
                    file.append(bytes(RESERVE_BYTES - file.size))
                self._is_kept = True
            finally:
                file.close()

    def give_up(self) -> bool:
        """Leave the room to others. Returns whether there was any.

        Raises:
            KafkaStorageError: the disk has failed.
        """
        self._is_kept = False
        if not self._files.exists(self._path):
            return False
        self._files.unlink(self._path)
        return True


def has_room(files: Files, directory: Path) -> bool:
    """Whether a small file can be made in ``directory`` now.

    Tried, because a system that says how much is free may know of no quota. What else
    is wrong with the directory, the next write says.
    """
    path = directory / PROBE_NAME
    try:
        files.unlink(path)
        file = files.open(path, create=True)
        try:
            file.append(bytes(_PROBE_BYTES))
        finally:
            file.close()
            files.unlink(path)
    except DiskFull:
        return False
    except (KafkaStorageError, *MISSING):
        return True
    return True
