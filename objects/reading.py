"""An object as a file that is open for reading: each piece is a ranged request."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .store import ObjectStore

_BUFFER_SIZE = 1 << 20


class _Ranges(io.RawIOBase):
    """Reads an object by ranged requests."""

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        super().__init__()
        self._store = store
        self._name = name
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        self._position = max(base[whence] + offset, 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        size = min(len(view), self._size - self._position)
        if size <= 0:
            return 0
        found = self._store.get_range(self._name, self._position, size)
        view[: len(found)] = found
        self._position += len(found)
        return len(found)


def open_object(store: ObjectStore, name: str) -> io.BufferedReader:
    """The object, to be read; what is read next is read ahead.

    Raises:
        NoSuchObject: there is none.
    """
    size = store.head(name).size
    return io.BufferedReader(_Ranges(store, name, size), _BUFFER_SIZE)
