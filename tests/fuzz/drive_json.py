"""What `drive_speedups` does with the function that makes columns of JSON."""

from __future__ import annotations

import json
import struct
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

_NAMES = (b"id", b"name", b"at", b"ok", b"day", b"x")
_WORDS = (
    *("1", "-0", "01", "127", "-129", "2147483648", "9223372036854775808", "1" * 45),
    *("1.5", "1e5", "1.", "-", "1e999", "0.1e-300", "179769313486231570" + "0" * 60),
    *("true", "false", "null", "nul", '""', '"x"', '"\\n\\u00e9"', '"\\ud83d\\ude00"'),
    *('"\\ud800"', '"\\u12"', '"\\', '"2026-02-29"', '"2026-11-28"', '"\x01"', "[]"),
    *('"2026-11-28T10:00:00.25Z"', '"2026-11-28 10:00:00.1234567"', "{", "}", ",", ":"),
    *("[1, {}]", '{"id": [null]}', "[" * 30, "[" * 9 + "]" * 9, " \t\r\n", "é"),
)


def random_value(random: Random) -> bytes:
    """An object, or what is hardly one."""
    parts = [
        f'"{random.choice(_NAMES).decode()}":{random.choice(_WORDS)}'
        for _ in range(random.randrange(4))
    ]
    value = bytearray(("{" + ", ".join(parts) + "}").encode())
    if random.random() < 0.3:
        start = random.randrange(len(value))
        value[start : start + random.randrange(3)] = random.choice(_WORDS).encode()
    return bytes(value)


def check_json(speedups: Any, random: Random) -> None:
    values = [random_value(random) for _ in range(random.randrange(4))]
    count, kinds = len(values), bytes(random.choices(b"bhiqd?stD", k=len(_NAMES)))
    whole = b"".join(values)
    data = array("B", whole)[:]
    ends = [0]
    for each in values:
        ends.append(ends[-1] + len(each))
    if random.random() < 0.1:
        ends[random.randrange(len(ends))] += random.choice((-9, 1, 2**30))
    short = random.random() < 0.05
    rows = max(count - short, 0)
    slots = len(kinds) + kinds.count(b"s")
    states = array("B", bytes(len(kinds) * count))[:]
    cells = array("q", bytes(8 * slots * rows))[:]
    offsets = array("i", ends)[:]
    try:
        done = speedups.read_objects(data, offsets, kinds, states, cells, _NAMES)
    except ValueError:
        assert rows < count
        return
    slot = 0
    for place, name in enumerate(_NAMES):
        kind = kinds[place : place + 1]
        for row in range(done):
            if states[place * count + row] == 1:
                value = json.loads(whole[ends[row] : ends[row + 1]])[name.decode()]
                cell = cells[slot * count + row]
                size = cells[(slot + 1) * count + row] if kind == b"s" else 0
                found = data[cell : cell + size].tobytes() if kind == b"s" else b""
                check_cell(kind, value, cell, found)
        slot += 1 + (kind == b"s")


def check_cell(kind: bytes, value: Any, cell: int, found: bytes) -> None:
    """Whether Python reads the same."""
    if kind == b"s":
        assert value.encode() == found
    elif kind == b"d":
        assert float(value) == struct.unpack("d", struct.pack("q", cell))[0]
    elif kind in b"tD":
        assert value.startswith("2026-11-28")
    else:
        assert value == cell
