"""What a store of objects can do, whoever's it is. It blocks; use it in threads.

Invariants: an object is there whole or not at all, and a name that was written is read
back at once, by everybody. Of many who put a name if it is absent one is told that the
object is theirs, however often answers were lost: so what they put must differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ObjectInfo(NamedTuple):
    """An object; ``version`` tells its content, ``changed_s`` is Unix time."""

    name: str
    size: int
    version: str
    changed_s: float


class ObjectStore(Protocol):
    """A bucket.

    Every call raises StoreAway or StoreRefused; tries that may help were made before.
    """

    @property
    def host(self) -> str:
        """Who is asked, for messages."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object, over one that is there."""

    def put_file(self, name: str, file: BinaryIO) -> int:
        """Write an object out of a whole file; its size. By parts, if it is large."""

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Whether the object is there with this content now, and was not before."""

    def get(self, name: str) -> bytes:
        """A whole object.

        Raises:
            NoSuchObject: there is none.
        """

    def get_range(self, name: str, start: int, size_max: int) -> bytes:
        """Some bytes; fewer at its end.

        Raises:
            NoSuchObject: there is none.
        """

    def head(self, name: str) -> ObjectInfo:
        """What there is to know of an object without reading it.

        Raises:
            NoSuchObject: there is none.
        """

    def list_all(self, folder: str) -> Iterator[ObjectInfo]:
        """All objects below a folder, in any order."""

    def list_folder(self, folder: str) -> tuple[list[ObjectInfo], list[str]]:
        """The objects in a folder, and the names of the folders in it."""

    def copy(self, source: str, target: str) -> None:
        """Write an object again under another name, without reading it.

        Raises:
            NoSuchObject: there is none.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects, as far as they are there."""
