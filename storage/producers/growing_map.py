"""A map by integers that never takes long to grow.

A dict with a third of a million entries takes 10 ms when it must grow: all of them move
at once, and everybody waits. This one is many small dicts once it has `SPLIT_LENGTH`
entries, and they grow one by one.
"""

from typing import Final, Generic, TypeVar

V = TypeVar("V")

SPLIT_LENGTH: Final = 4096
_PARTS: Final = 256


class GrowingMap(Generic[V]):
    """Values by integers."""

    __slots__ = ("_length", "_mask", "_parts")

    def __init__(self) -> None:
        self._length = 0
        self._mask = 0
        self._parts: list[dict[int, V]] = [{}]

    def __len__(self) -> int:
        return self._length

    def part(self, key: int) -> dict[int, V]:
        """The dict that has the key, if there is one. Only to be read."""
        return self._parts[key & self._mask]

    def get(self, key: int) -> V | None:
        """The key's value; None without any."""
        return self._parts[key & self._mask].get(key)

    def put(self, key: int, value: V) -> None:
        """Let the key have that value."""
        part = self._parts[key & self._mask]
        before = len(part)
        part[key] = value
        if len(part) != before:
            self._length += 1
            if self._length == SPLIT_LENGTH and not self._mask:
                self._split()

    def pop(self, key: int) -> V | None:
        """Take the key out. Returns its value; None without any."""
        part = self._parts[key & self._mask]
        before = len(part)
        value = part.pop(key, None)
        self._length += len(part) - before
        return value

    def _split(self) -> None:
        (whole,) = self._parts
        self._mask = _PARTS - 1
        self._parts = [{} for _ in range(_PARTS)]
        for key, value in whole.items():
            self._parts[key & self._mask][key] = value
