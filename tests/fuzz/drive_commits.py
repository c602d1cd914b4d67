"""What `drive_speedups` does with the function that finds committed offsets."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from odradek.protocol.plain import latest_commits as latest_commits_plain
from odradek.protocol.record_batch import stamp
from odradek.protocol.records import NewRecord, build_batch

if TYPE_CHECKING:
    from random import Random

BORDERS = (0, 1, 2, 3, 4, 0x10, 0x7F, 0x80, 0xFF)


def change(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice(BORDERS)


def random_commits(random: Random) -> bytearray:
    data = bytearray()
    for _ in range(random.randrange(4)):
        records = []
        for _ in range(random.randrange(1, 4)):
            group, topic = (random.choice((b"", b"g", b"more")) for _ in range(2))
            sizes = [len(each).to_bytes(2, "big") for each in (group, topic)]
            key = b"\0\1" + sizes[0] + group + sizes[1] + topic + bytes(4)
            value = bytearray(random.choice((24, 42)))
            value[1] = 4 if len(value) > 24 else 3
            if value[1] == 4:
                value[14] = value[23] = 1
                value[25] = 16
            if random.random() < 0.1:
                change(random, value)
            records.append(NewRecord(key, bytes(value), random.randrange(9)))
        batch = build_batch(records)
        stamp(batch, random.choice((0, 7, 2**62, 2**63 - 2**31 - 9)), 0)
        data += batch
    return data


def check_commits(speedups: Any, random: Random) -> None:
    data = random_commits(random)
    for _ in range(random.choice((0, 0, 1, 2))):
        change(random, data)
    if random.random() < 0.1:
        del data[random.randrange(len(data) + 1) :]
    exact, secret = array("B", data)[:], array("B", random.randbytes(16))
    slots = array("B", bytes(24 * random.choice((1, 2, 20)) + random.choice((0, 23))))
    room = array("B", bytes(80 * random.randrange(6) + random.choice((0, 79))))[:]
    numbers = random.choice((0, 0, 0, 61, len(data) + 1)), random.choice((0, 3, 99))
    rows = [room[:], room[:]]
    modules: tuple[Any, ...] = speedups, latest_commits_plain
    found = [
        module.latest_commits(exact, slots[:], secret, each, *numbers)
        for module, each in zip(modules, rows, strict=True)
    ]
    assert found[0] == found[1], (data.hex(), numbers, found)
    assert rows[0] == rows[1], (data.hex(), numbers, found)
