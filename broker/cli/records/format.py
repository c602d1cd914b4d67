r"""How ``consume -f`` shows a record: the words of kcat.

``%s %k %h`` value, key and headers, ``%S %K`` their sizes (-1 for null), ``%R`` the
size of the value as 4 bytes, ``%t %p %o %T`` topic, partition, offset and time in ms,
``%%`` a percent sign; ``\n \r \t \0 \\ \xNN`` as in C.
"""

from __future__ import annotations

import argparse
import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.protocol.records import Record
    from odradek.protocol.topic_partition import TopicPartition

    Piece = Callable[[TopicPartition, Record], bytes]
    RecordFormat = Sequence[Piece]

WORDS = "skhSKRtpoT%"
_SIZE = struct.Struct(">i")
_TOKEN = re.compile(r"%(.?)|\\(x[0-9A-Fa-f]{2}|.?)|[^%\\]+", re.DOTALL)
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}


def unescaped(text: str) -> bytes:
    r"""Bytes, as ``\t`` and the like write them; for ``type=``."""
    return b"".join(
        part if isinstance(part, bytes) else b"%" for part in _parts(text, with_words=0)
    )


def parse_format(text: str) -> RecordFormat:
    """What makes the bytes of a record; for ``type=``."""
    return [
        _constant(part) if isinstance(part, bytes) else _PIECES[part]
        for part in _parts(text, with_words=1)
    ]


def _parts(text: str, *, with_words: int) -> list[bytes | str]:
    """Bytes as they stand, and the letters of words."""
    parts: list[bytes | str] = []
    for found in _TOKEN.finditer(text):
        whole, word, escape = found[0], found[1], found[2]
        if escape is not None:
            parts.append(_escaped(escape))
        elif word is None or not with_words:
            parts.append(whole.encode("utf-8", "surrogateescape"))
        elif word == "%":
            parts.append(b"%")
        elif word and word in WORDS:
            parts.append(word)
        else:
            known = " ".join(f"%{letter}" for letter in WORDS)
            raise argparse.ArgumentTypeError(f"%{word} is not known; there are {known}")
    return parts


def _escaped(letters: str) -> bytes:
    if letters.startswith("x") and len(letters) == 3:
        return bytes.fromhex(letters[1:])
    if letters not in _ESCAPES:
        raise argparse.ArgumentTypeError(
            rf"\{letters} is not known; there are \n \r \t \0 \\ and \xNN"
        )
    return _ESCAPES[letters]


def _constant(data: bytes) -> Piece:
    return lambda place, record: data


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(record: Record) -> bytes:
    return b",".join(
        name.encode("utf-8", "surrogateescape") + b"=" + (b"NULL" if v is None else v)
        for name, v in record.headers
    )


_PIECES: dict[str, Piece] = {
    "s": lambda place, record: record.value or b"",
    "k": lambda place, record: record.key or b"",
    "h": lambda place, record: _headers(record),
    "S": lambda place, record: b"%d" % _size(record.value),
    "K": lambda place, record: b"%d" % _size(record.key),
    "R": lambda place, record: _SIZE.pack(_size(record.value)),
    "t": lambda place, record: place.topic.encode(),
    "p": lambda place, record: b"%d" % place.partition,
    "o": lambda place, record: b"%d" % record.offset,
    "T": lambda place, record: b"%d" % record.timestamp,
}
