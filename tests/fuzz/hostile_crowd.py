"""Many hostile messages among members who keep to the protocol; no sockets, no waiting.

The clock moves with the number of messages: sessions, locks and groups end by it, and
nothing hangs on how fast the machine is. Each message has a connection without others
under way, so it shows whether it is answered.
"""

import asyncio
import heapq
import random
import struct
from collections import Counter
from collections.abc import Sequence

from odradek.broker.network.connection import Connection
from odradek.broker.node.server import Server
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.messages.share_fetch import ShareFetchRequest
from tests.fakes.broker import until
from tests.fakes.clock import FakeClock
from tests.fakes.network import FakeTransport
from tests.fuzz.frames import EXTREMES, mutated
from tests.fuzz.group_members import Member

A_MESSAGE_MS = 2  # on the clock
LATE_MS = 60_000
TURNS = 20
A_TIMER_MANY = 10_000
_HEAD_SIZE = 15  # of a request: API, version, correlation id, "fuzz", no tags


class SweptClock(FakeClock):
    """Forgets cancelled timers, as event loops do: here some lie days ahead."""

    def advance(self, delta_ms: int) -> None:
        """Move on; now and then look what is left."""
        super().advance(delta_ms)
        if len(self._timers) > A_TIMER_MANY:
            kept = [each for each in self._timers if not each.is_cancelled]
            self._timers = kept
            heapq.heapify(kept)


class Late:
    """A message that was not answered at once, and its connection."""

    def __init__(self, transport: FakeTransport, frame: bytes, now_ms: int) -> None:
        self.transport, self.frame, self.since_ms = transport, frame, now_ms


class HostileCrowd:
    """What ``members`` are about to send, changed; and some of ``messages``.

    ``outcomes`` counts the hostile messages, ``errors`` what members were told.
    """

    def __init__(
        self,
        server: Server,
        clock: FakeClock,
        members: Sequence[Member],
        messages: Sequence[bytes],
        seed: int,
    ) -> None:
        self.outcomes, self.errors = Counter[str](), Counter[int]()
        self._server, self._clock, self._members = server, clock, members
        self._messages = [each[4:] for each in messages]
        self._chance = random.Random(seed)
        self._connections = [self._connect() for _ in range(16)]
        self._theirs = [self._connect() for _ in members]
        self._late: list[Late] = []
        self._round = 0

    async def settle(self, rounds: int = 6) -> None:
        """Let the members join in peace: the first of a group says what it is."""
        for number in range(rounds * len(self._members)):
            await self._live(number % len(self._members))
        assert self.errors[0], self.errors
        self.errors.clear()

    async def attack(self) -> int:
        """A message on each connection, then a member's; returns how many were sent."""
        self._round += 1
        sent = [(transport, self._hostile()) for transport in self._connections]
        for transport, frame in sent:
            transport.feed(struct.pack(">i", len(frame)) + frame)
        await _turns(self._connections)
        self._clock.advance(A_MESSAGE_MS * len(sent))
        for place, (transport, frame) in enumerate(sent):
            if transport.is_closing():
                self.outcomes["closed"] += 1
            elif transport.sent:
                self.outcomes["answered"] += 1
                transport.sent.clear()
                if self._chance.random() < 0.99:
                    continue
                transport.lose()
            else:
                late = Late(transport, frame, self._clock.monotonic_ms())
                self._late.append(late)
            self._connections[place] = self._connect()
        await self._live(self._round % len(self._members))
        if self._late and self._round % 100 == 0:
            await self._look_at_late(LATE_MS)
        return len(sent)

    async def end(self) -> None:
        """Hang up everywhere."""
        await self._look_at_late(0)
        for transport in (*self._connections, *self._theirs):
            transport.lose()

    def _connect(self) -> FakeTransport:
        transport = FakeTransport()
        transport.connect(Connection(self._server.listeners[0]))
        return transport

    def _hostile(self) -> bytes:
        chance = self._chance
        if chance.random() < 0.04:
            frame = chance.choice(self._messages)
            if chance.random() < 0.5:
                return frame
        else:
            frame = chance.choice(self._members).frame[4:]
        head, body = bytearray(frame[:_HEAD_SIZE]), bytearray(frame[_HEAD_SIZE:])
        kind = chance.random()
        if kind < 0.88:
            return bytes(head + overwritten(chance, body))
        if kind < 0.89:
            head[2:4] = chance.choice((b"\0\0", b"\0\1", b"\0\2", b"\0\3", b"\xff\xff"))
        elif kind < 0.90:
            head[8 + chance.randrange(_HEAD_SIZE - 8)] = chance.randrange(256)
        other = chance.choice(self._members).frame[4 + _HEAD_SIZE :]
        return bytes(head) + mutated(chance, body, (other,))

    async def _live(self, number: int) -> None:
        """Let one of the members send what it is about to send."""
        member, transport = self._members[number], self._theirs[number]
        transport.feed(member.frame)
        await _turns([transport])
        if not transport.sent:  # a group that is loaded, or a topic that is made
            await until(lambda: transport.sent or transport.is_closing())
        assert not transport.is_closing(), member.frame.hex()
        self.errors[member.hear(bytes(transport.sent))] += 1
        transport.sent.clear()

    async def _look_at_late(self, late_ms: int) -> None:
        """See that what is late is answered, or has asked to wait for longer."""
        now_ms, kept = self._clock.monotonic_ms(), []
        for late in self._late:
            transport, age_ms = late.transport, now_ms - late.since_ms
            if not _has_ended(transport) and age_ms < late_ms:
                kept.append(late)
                continue
            if not _has_ended(transport) and wait_ms(late.frame) <= age_ms:
                await until(lambda transport=transport: _has_ended(transport))
            outcome = "answered late" if transport.sent else "waits"
            self.outcomes["closed" if transport.is_closing() else outcome] += 1
            transport.lose()
        self._late = kept


def overwritten(chance: random.Random, body: bytearray) -> bytearray:
    """``body`` with other bytes in one to three places: mostly it can still be read.

    What is at an edge goes where zeros are, which is in numbers; texts stay ASCII.
    """
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        position = chance.randrange(len(body))
        kind = chance.randrange(4)
        if body[position] in (0, 255) and kind < 3:
            end = min(position + 4, len(body))
            body[position:end] = chance.choice(EXTREMES)[: end - position]
        elif kind == 0:
            body[position] = chance.randrange(128)
        elif kind == 1:
            body[position] ^= 1 << chance.randrange(7)
        else:
            body[position] = (body[position] + chance.choice((1, -1))) & 255
    return body


def wait_ms(frame: bytes) -> int:
    """How long the broker may take for an answer: only a share fetch waits."""
    key, version = struct.unpack_from(">hh", frame)
    if key != ApiKey.SHARE_FETCH:
        return 0
    (size,) = struct.unpack_from(">h", frame, 8)
    position = 10 + max(size, 0) + 1  # no tags
    try:
        request, _ = decoder(ShareFetchRequest, version)(memoryview(frame), position)
    except MalformedRequest:
        return 1 << 31  # with tags; who sends it can read it
    return request.max_wait_ms


def _has_ended(transport: FakeTransport) -> bool:
    return bool(transport.sent) or transport.is_closing()


async def _turns(transports: Sequence[FakeTransport]) -> None:
    for _ in range(TURNS):
        if all(each.sent or each.is_closing() for each in transports):
            return
        await asyncio.sleep(0)
