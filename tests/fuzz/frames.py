"""Hostile frames: valid requests of every API, mutated; and noise."""

import json
import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from odradek.broker import handlers
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.headers import encode_request

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
EXTREMES = (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00" * 4)


def recorded_requests() -> list[bytes]:
    """Every whole request of the recordings, from the API key on, without repeats."""
    found: set[bytes] = set()
    for path in sorted(GOLDEN.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            exchange = json.loads(line)
            request = exchange.get("request_hex")
            if request and "." not in request and not exchange.get("raw"):
                found.add(bytes.fromhex(request))
    return sorted(found)


def plainest_requests() -> list[bytes]:
    """The smallest request of every API and version that we answer."""
    handlers.load()
    return [
        bytes(encode_request(handler.request_class(), version, 7, "fuzz"))[4:]
        for handler in registered_handlers().values()
        for version in range(handler.min_version, handler.max_version + 1)
    ]


def hostile_frames(count: int, seed: int) -> Iterator[bytes]:
    """``count`` frames without their length: nine mutated ones to one of noise."""
    chance = random.Random(seed)
    corpus = recorded_requests() + plainest_requests()
    for number in range(count):
        if number % 10 == 9:
            yield chance.randbytes(chance.choice([1, 8, 40, 400, 4000]))
        else:
            yield mutated(chance, bytearray(chance.choice(corpus)), corpus)


def mutated(chance: random.Random, frame: bytearray, corpus: Sequence[bytes]) -> bytes:
    """``frame`` with one to four changes; some are pieces of others of ``corpus``."""
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        position = chance.randrange(len(frame)) if frame else 0
        match chance.randrange(7):
            case 0:
                frame[position : position + 1] = chance.randbytes(1)
            case 1:
                del frame[position:]
            case 2:
                frame[position:position] = chance.randbytes(chance.choice([1, 7, 64]))
            case 3:
                frame[position : position + 4] = chance.choice(EXTREMES)
            case 4:
                del frame[position : position + chance.choice([1, 4, 16])]
            case 5:
                other = chance.choice(corpus)
                frame[position:] = other[chance.randrange(len(other)) :]
            case 6 if len(frame) >= 4:
                struct.pack_into(">h", frame, 2, chance.randrange(-2, 20))
    return bytes(frame)
