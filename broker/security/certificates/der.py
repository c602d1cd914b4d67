"""DER, as far as a certificate needs it: values in values, each with tag and length.

Every length is checked: what a client shows as its certificate was made by a stranger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGER: Final = 0x02
OBJECT_IDENTIFIER: Final = 0x06
SEQUENCE: Final = 0x30
SET: Final = 0x31


class DerError(ValueError):
    """This is no DER."""


class Value(NamedTuple):
    """One value: its tag, what it holds, and all of it with tag and length."""

    tag: int
    content: bytes
    encoded: bytes

    def inside(self) -> list[Value]:
        """The values that a sequence or a set holds."""
        return list(values(self.content))


def values(data: bytes) -> Iterator[Value]:
    """The values that stand one behind the other in ``data``.

    Raises:
        DerError: the last one is cut off, or a length cannot be.
    """
    position = 0
    while position < len(data):
        if position + 2 > len(data):
            raise DerError("a value is cut off")
        tag, size, start = data[position], data[position + 1], position + 2
        if tag & 0x1F == 0x1F:
            raise DerError("a tag of more than one byte")
        if size >= 0x80:
            count = size & 0x7F
            if not 0 < count <= 4 or start + count > len(data):
                raise DerError("a length that cannot be")
            size = int.from_bytes(data[start : start + count])
            start += count
        end = start + size
        if end > len(data):
            raise DerError("a value is cut off")
        yield Value(tag, data[start:end], data[position:end])
        position = end


def only_value(data: bytes) -> Value:
    """The one value that ``data`` is.

    Raises:
        DerError: it is none, or more than one.
    """
    found = list(values(data))
    if len(found) != 1:
        raise DerError(f"{len(found)} values in the place of one")
    return found[0]


def object_identifier(content: bytes) -> str:
    """An object identifier with dots: 2.5.4.3.

    Raises:
        DerError: it is cut off.
    """
    if not content or content[-1] & 0x80:
        raise DerError("an object identifier is cut off")
    parts, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            parts.append(number)
            number = 0
    first = min(parts[0] // 40, 2)
    return ".".join(map(str, [first, parts[0] - 40 * first, *parts[1:]]))
