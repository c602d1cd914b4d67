"""Runs a build of speedups on random payloads, in a process that may be aborted.

Arguments: the path of the built module, the seconds of CPU time to run, the seed, and
how many calls of its functions there shall be at least.
"""

import sys
import time
from array import array
from collections.abc import Callable
from functools import partial
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from random import Random
from types import ModuleType
from typing import Any

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.plain import batch_columns as batch_columns_plain
from odradek.protocol.plain import last_offsets as last_offsets_plain
from odradek.protocol.plain import record_columns as record_columns_plain
from odradek.protocol.plain import records as records_plain
from odradek.protocol.plain import usual_batch as usual_batch_plain
from odradek.protocol.plain import usual_produce as usual_produce_plain
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    HAS_DELETE_HORIZON,
    LOG_OVERHEAD,
    BatchHeader,
    pack_header,
    restamp_crc,
    stamp,
)
from odradek.protocol.records import NewRecord, build_batch
from tests.fuzz.drive_commits import check_commits
from tests.fuzz.drive_encoding import check_encoding
from tests.fuzz.drive_json import check_json
from tests.plain.records import PlainRecord, write_record

BORDERS = (0, 1, 2, 0x0F, 0x10, 0x7F, 0x80, 0xFF)


class Counted:
    """The functions of a module, and how often they were called."""

    def __init__(self, module: ModuleType) -> None:
        self.calls = 0
        for name in dir(module):
            if callable(function := getattr(module, name)):
                setattr(self, name, partial(self._call, function))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(name)  # for mypy: every function is an attribute

    def _call(self, function: Callable[..., object], *arguments: object) -> object:
        self.calls += 1
        return function(*arguments)


def load(path: str) -> ModuleType:
    loader = ExtensionFileLoader("speedups", path)
    spec = spec_from_loader("speedups", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def random_field(random: Random) -> bytes | None:
    size = random.choice((None, 0, 1, 5, 63, 64, 200))
    return None if size is None else random.randbytes(size)


def random_payload(random: Random) -> tuple[bytearray, int]:
    if random.random() < 0.1:
        return bytearray(random.randbytes(random.randrange(64))), random.randrange(9)
    count = random.randrange(5)
    payload = bytearray()
    for place in range(count):
        bits = random.choice((1, 8, 40, 63))
        headers = [
            (random_field(random) or b"", random_field(random))
            for _ in range(random.choice((0, 0, 1, 3)))
        ]
        delta = random.randrange(-(2**bits), 2**bits)
        fields = random_field(random), random_field(random), headers
        payload += write_record(PlainRecord(0, delta, place, *fields))
    return payload, count


def mutate(random: Random, payload: bytearray) -> None:
    position = random.randrange(len(payload) + 1)
    match random.randrange(4):
        case 0:
            payload[position : position + 1] = bytes([random.choice(BORDERS)])
        case 1:
            payload[position:position] = bytes([random.choice(BORDERS)])
        case 2:
            del payload[position : position + random.randrange(4)]
        case _:
            payload[position : position + 1] = random.randbytes(random.randrange(12))


def outcome(function: Callable[..., object], *arguments: object) -> object:
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


def check(speedups: Counted, random: Random) -> None:
    payload, count = random_payload(random)
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        mutate(random, payload)
    count += random.choice((0, 0, 0, 0, 1, -1))
    base = random.choice((0, 1_700_000_000_000, 2**63 - 1, -(2**63)))
    # A slice of an array has exactly its own bytes: one too far is seen.
    exact = array("B", payload)[:]
    fast = outcome(speedups.summarize, exact, count, base)
    plain = outcome(records_plain.summarize, payload, count, base)
    assert fast == plain, (payload.hex(), count, base, fast, plain)
    rows = array("q", bytes(48 * max(count, 0)))[:]
    wanted = array("q", rows)
    fast = outcome(speedups.index_records, exact, count, rows)
    plain = outcome(records_plain.index_records, payload, count, wanted)
    assert fast == plain, (payload.hex(), count, fast, plain)
    assert fast is not None or rows == wanted, (payload.hex(), count)


def check_usual(speedups: Counted, random: Random) -> None:
    time = random.choice((0, 0, 9, 1_700_000_000_000, 2**62))
    records = [
        NewRecord(
            random_field(random), random_field(random), time + random.randrange(3)
        )
        for _ in range(random.randrange(1, 4))
    ]
    data = build_batch(records)
    for _ in range(random.choice((0, 1, 1, 2))):
        mutate(random, data)
    if random.random() < 0.1:
        del data[random.randrange(len(data) + 1) :]
    if len(data) >= BATCH_OVERHEAD and random.random() < 0.8:
        # That what is wrong is not always the checksum, nor the length.
        data[8:12] = (len(data) - LOG_OVERHEAD).to_bytes(4, "big")
        restamp_crc(data)
    spans = (0, 2, 10**9, 2**63 - 1)
    rules = (
        random.choice((time, time + 2, 0, 2**63 - 1, -(2**63))),
        random.choice((*spans, spans[-1], -1)),
        random.choice((*spans, spans[-1], -1)),
        random.random() < 0.5,
    )
    exact = array("B", data)[:]
    fast = outcome(speedups.check_usual, exact, *rules)
    plain = outcome(usual_batch_plain.check_usual, data, *rules)
    assert fast == plain, (data.hex(), rules, fast, plain)


def check_find(speedups: Counted, random: Random) -> None:
    size = random.choice((0, 20, 70, 200))
    data = PartitionProduceData(index=0, records=random.randbytes(size))
    wanted = TopicProduceData(name="t" * random.randrange(9), partition_data=[data])
    transactional_id = random.choice((None, None, "", "id", "x" * 126, "x" * 127))
    request = ProduceRequest(
        transactional_id=transactional_id, acks=1, timeout_ms=9, topic_data=[wanted]
    )
    client_id = random.choice((None, "", "me"))
    by_id = random.random() < 0.5
    frame = bytearray(encode_request(request, 13 if by_id else 12, 7, client_id)[4:])
    for _ in range(random.choice((0, 0, 1, 2))):
        mutate(random, frame)
    if random.random() < 0.1:
        del frame[random.randrange(len(frame) + 1) :]
    exact = array("B", frame)[:]
    fast = speedups.find_usual_batch(exact, by_id)
    plain = usual_produce_plain.find_usual_batch(frame, by_id)
    assert fast == plain, (frame.hex(), by_id, fast, plain)


def random_batches(random: Random) -> bytearray:
    data = bytearray()
    offset = random.choice((0, 5, 2**31, 2**62))
    for _ in range(random.randrange(4)):
        value = random.randbytes(random.randrange(40))
        batch = build_batch([NewRecord(None, value, random.randrange(9))])
        stamp(batch, offset, random.randrange(3))
        data += batch
        offset += random.choice((1, 1, 1, 7, 0))
    return data


def check_walk(speedups: Counted, random: Random) -> None:
    data = random_batches(random)
    for _ in range(random.choice((0, 1, 1, 2))):
        mutate(random, data)
    exact = array("B", data)[:]
    capacity = random.randrange(5)
    columns = array("q", bytes(64 * capacity + random.choice((0, 8, 56))))[:]
    wanted = array("q", columns)
    limits = (
        random.choice((-1, 0, 5, 2**31, 2**63 - 1)),
        random.choice((0, 5, 2**31, 2**62, 2**63 - 2)),
        random.random() < 0.5,
    )
    fast = outcome(speedups.walk_batches, exact, columns, *limits)
    plain = outcome(batch_columns_plain.walk_batches, data, wanted, *limits)
    assert fast == plain, (data.hex(), capacity, limits, fast, plain)
    assert columns == wanted, (data.hex(), capacity, limits)


def random_keyed_batches(random: Random) -> bytearray:
    data = bytearray()
    offset = random.choice((0, 0, 5, 2**62, 2**63 - 2**31 - 9))
    for _ in range(random.randrange(4)):
        keys = [
            random.choice((None, b"", b"a", b"a" * 7, b"b" * 8, b"c" * 17))
            for _ in range(random.randrange(1, 4))
        ]
        value = random.choice((None, b"", b"value"))
        batch = build_batch(
            [NewRecord(key, value, random.randrange(9)) for key in keys]
        )
        stamp(batch, offset, random.randrange(3))
        if random.random() < 0.2:
            batch[22] |= HAS_DELETE_HORIZON
        data += batch
        offset += len(keys)
    return data


def check_last_offsets(speedups: Counted, random: Random) -> None:
    data = random_keyed_batches(random)
    for _ in range(random.choice((0, 0, 1, 2))):
        mutate(random, data)
    exact = array("B", data)[:]
    slots, secret = random.choice((1, 2, 5, 20)), array("B", random.randbytes(16))
    tables = [array("B", bytes(24 * slots + random.choice((0, 1, 23))))[:]]
    tables.append(tables[0][:])
    base = int.from_bytes(data[:8], "big") if random.random() < 0.5 else 0
    numbers = min(base, 2**63 - 1), random.choice((0, 1, 9)), random.choice((0, 16))
    modules: tuple[Any, ...] = speedups, last_offsets_plain
    fast, plain = (
        outcome(module.map_keys, exact, table, secret, *numbers)
        for module, table in zip(modules, tables, strict=True)
    )
    assert fast == plain, (data.hex(), numbers, fast, plain)
    room = random.choice((0, 61, len(data), len(data)))
    targets = [array("B", bytes(room))[:] for _ in modules]
    pinned = array(
        "q", sorted(min(base + random.randrange(4), 2**63 - 1) for _ in range(2))
    )[:]
    rules = min(base + 2, 2**63 - 1), random.choice((0, 9)), random.choice((0, 16))
    kept = [
        outcome(module.keep_latest, exact, table, secret, target, pinned, *rules)
        for module, table, target in zip(modules, tables, targets, strict=True)
    ]
    assert kept[0] == kept[1], (data.hex(), rules, kept)
    if isinstance(kept[0], tuple):
        size = kept[0][1] + kept[0][2]
        assert targets[0][:size] == targets[1][:size], (data.hex(), rules)


def random_columns_data(random: Random) -> tuple[bytearray, list[int]]:
    """Batches that say of their records what may not be true, and where they begin."""
    data, positions = bytearray(), []
    for _ in range(random.randrange(3)):
        payload, count = random_payload(random)
        for _ in range(random.choice((0, 0, 1, 2))):
            mutate(random, payload)
        attributes = random.choice((0, 0, 0, 8, 1))
        numbers = (0, 0, attributes, 0, 0, 2**63 - 1, -(2**63), 0, 0, 0)
        header = BatchHeader(
            random.choice((0, 2**63 - 1, -(2**63))),
            len(payload) + 49 + random.choice((0, 0, 0, 1, -1)),
            *numbers,
            count + random.choice((0, 0, 0, 1, -1, 2**30)),
        )
        batch = bytearray(61)
        pack_header(batch, header)
        positions.append(len(data))
        data += batch + payload
    if random.random() < 0.3:
        positions.append(random.choice((-1, 0, len(data), 2**62)))
    return data, positions


def check_columns(speedups: Counted, random: Random) -> None:
    data, positions = random_columns_data(random)
    exact = array("B", data[: len(data) - random.choice((0, 0, 0, 1))])[:]
    batches = array("q", positions)[:]
    cells = array("q", bytes(56 * random.randrange(12) + random.choice((0, 8))))[:]
    modules: tuple[Any, ...] = speedups, record_columns_plain
    columns = [cells[:], cells[:]]
    fast, plain = (
        outcome(module.walk_records, exact, batches, each)
        for module, each in zip(modules, columns, strict=True)
    )
    assert fast == plain, (exact.tobytes().hex(), batches, fast, plain)
    capacity, count = len(cells) // 7, plain[1]  # type: ignore[index]
    rows = [
        [each[column * capacity + place] for column in range(7)]
        for each in columns
        for place in range(count)
    ]
    assert rows[:count] == rows[count:], (exact.tobytes().hex(), batches)
    blocks = array("q", [row[4] + max(row[5], 0) for row in rows[:count]])
    if random.random() < 0.5:
        blocks.append(random.choice((-1, 0, 5, len(exact), len(exact) + 1, 2**62)))
    room = array("q", bytes(32 * random.randrange(9)))[:]
    rooms = [room[:], room[:]]
    walked: list[Any] = [
        outcome(module.walk_headers, exact, blocks[:], each)
        for module, each in zip(modules, rooms, strict=True)
    ]
    assert walked[0] == walked[1], (exact.tobytes().hex(), blocks, walked)
    assert (
        isinstance(walked[0], str) or rooms[0] == rooms[1] or walked[0] * 4 < len(room)
    ), (exact.tobytes().hex(), blocks)
    check_gather(speedups, random, exact, [(row[4], row[5]) for row in rows[:count]])


def check_gather(
    speedups: Counted,
    random: Random,
    data: "array[int]",
    slices: list[tuple[int, int]],
) -> None:
    if random.random() < 0.3:
        strange = (-1, 0, 3, len(data), 2**62, -(2**63))
        slices.append((random.choice(strange), random.choice(strange)))
    positions = array("q", [position for position, _ in slices])[:]
    lengths = array("q", [length for _, length in slices])[:]
    total = sum(length for _, length in slices if 0 < length < 2**31)
    total += random.choice((0, 0, 40, -1))
    target = array("B", bytes(max(total, 0)))[:]
    offsets = array("i", bytes(4 * (len(slices) + random.choice((0, 1, 1, 1)))))[:]
    results = []
    for module in (speedups, record_columns_plain):
        pair = offsets[:], target[:]
        try:
            size = module.gather(data, positions, lengths, *pair)
            results.append((size, pair[0], pair[1][:size]))
        except (BufferError, ValueError) as error:
            results.append((str(error), pair[0][:0], pair[1][:0]))
    assert results[0] == results[1], (data.tobytes().hex(), slices, total, results)


def main(path: str, seconds: str, seed: str, calls: str = "0") -> None:
    speedups = Counted(load(path))
    # Numbers of its own for each, so that one may be changed alone.
    checks = [
        (one, Random(int(seed) + place))
        for place, one in enumerate(
            (
                check,
                check_walk,
                check_last_offsets,
                check_columns,
                check_usual,
                check_find,
                check_encoding,
                check_commits,
                check_json,
            )
        )
    ]
    end, runs, calls_min = time.process_time() + float(seconds), 0, int(calls)
    while time.process_time() < end or speedups.calls < calls_min:
        for _ in range(100):
            for one, random in checks:
                one(speedups, random)
        runs += 100
    print(f"{runs} payloads, {speedups.calls} calls, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
