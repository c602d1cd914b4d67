import os
from collections.abc import Iterator
from typing import BinaryIO

import pytest

from odradek.broker.cli.records.input import LineLayout, read_lines
from odradek.protocol.record_json import Addressed, BadRecord
from odradek.protocol.records import NewRecord

NOW = 77


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", 0) as target:
        yield source, target


@pytest.mark.parametrize(
    ("data", "delimiter", "expected"),
    [
        (b"", b"\n", []),
        (b"a\nb\n", b"\n", [b"a", b"b"]),
        (b"a\n\nb", b"\n", [b"a", b"", b"b"]),
        (b"a--b-", b"--", [b"a", b"b-"]),
        (b"x" * 600_000 + b"\0y", b"\0", [b"x" * 600_000, b"y"]),
    ],
)
def test_lines(
    tmp_path: object, data: bytes, delimiter: bytes, expected: list[bytes]
) -> None:
    path = f"{tmp_path}/input"
    with open(path, "wb") as file:
        file.write(data)
    with open(path, "rb") as source:
        assert list(read_lines(source, delimiter, lambda: None)) == expected


def test_what_has_come_does_not_wait(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    source, target = pipe
    target.write(b"first\nsec")
    happened: list[object] = []

    def idle() -> None:
        happened.append("idle")
        if len(happened) == 2:
            target.write(b"ond\n")
        else:
            target.close()

    happened.extend(read_lines(source, b"\n", idle))
    assert happened == [b"first", "idle", b"second", "idle"]


def test_keys_headers_and_times() -> None:
    assert LineLayout().record(b"a:b", NOW) == Addressed(
        NewRecord(None, b"a:b", NOW, ()), None
    )
    headers = (("h", b"1"),)
    layout = LineLayout(key_separator=b":", headers=headers, timestamp_ms=5)
    assert layout.record(b"k:v:w", NOW)[0] == NewRecord(b"k", b"v:w", 5, headers)
    with pytest.raises(BadRecord, match="no key separator"):
        layout.record(b"v", NOW)
    empty = LineLayout(key_separator=b":", is_empty_null=True)
    assert empty.record(b":", NOW)[0] == NewRecord(None, None, NOW, ())
    assert layout.record(b":", NOW)[0] == NewRecord(b"", b"", 5, headers)
    assert LineLayout(key=b"k").whole(b"\n", NOW)[0] == NewRecord(b"k", b"\n", NOW, ())


def test_json_lines_may_have_a_key_and_headers_from_outside() -> None:
    layout = LineLayout(is_json=True, key=b"k", headers=(("h", b"1"),))
    record, partition = layout.record(b'{"value": "v", "partition": 2}', NOW)
    assert record == NewRecord(b"k", b"v", NOW, (("h", b"1"),))
    assert partition == 2
    record, _ = layout.record(b'{"key": "own", "headers": [["i", null]]}', NOW)
    assert record == NewRecord(b"own", None, NOW, (("h", b"1"), ("i", None)))
