"""The broker's time, in the hands of tests.

- ``clock.advance`` (``ms``, ``sessions``: "keep" or "expire"): both clocks move, what
  becomes due is done, and it answers when that has its effects. "keep" is the default:
  who is connected counts as just heard all the while, and "expire" lets members go who
  beat in real time. The clocks of clients stay where they are.
- ``clock.jump`` (``ms``, also below 0): the wall clock alone moves.
- ``clock.freeze``, ``clock.thaw``: time stands still; requests are answered.
- ``clock.now``: where it stands.

Each answers with one item: ``now_ms`` since the epoch, ``ahead_ms`` of the machine's
clock, ``is_frozen``; an advance also with the ``timers`` that ran.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from odradek.broker.control.fields import Fields
from odradek.broker.operate.admin_socket import AdminError

from .sessions import Sessions
from .settling import Settling

if TYPE_CHECKING:
    from odradek.broker.control.server import ControlledServer
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request

    from .movable_clock import MovableClock


_CENTURY_MS = 100 * 365 * 24 * 3_600_000
KEEP, EXPIRE = "keep", "expire"


def clock_requests(server: ControlledServer) -> dict[str, AdminRequest]:
    """What answers each."""
    clock = server.clock
    settling = Settling(server.services)
    is_connected = server.known_clients.is_connected
    sessions = Sessions(server.services, server.listeners, is_connected)
    turn = asyncio.Lock()  # nobody else touches a clock that is advanced

    async def advance(request: Request) -> Items:
        fields = Fields(request)
        delta_ms = fields.number("ms", at_least=0, at_most=_CENTURY_MS)
        kept = fields.choice("sessions", (KEEP, EXPIRE), KEEP) == KEEP
        fields.end()
        async with turn:
            if server.is_frozen:
                text = "the broker is frozen, and does nothing: thaw it first"
                raise AdminError("frozen", text)
            on_move = sessions.keep if kept else int
            timers = await clock.advance(delta_ms, settling.settle, on_move)
            await settling.settle_all()
        yield {**_now(clock), "timers": timers}

    async def jump(request: Request) -> Items:
        fields = Fields(request)
        delta_ms = fields.number("ms", at_least=-_CENTURY_MS, at_most=_CENTURY_MS)
        fields.end()
        async with turn:
            clock.jump(delta_ms)
        yield _now(clock)

    async def freeze(request: Request) -> Items:
        Fields(request).end()
        async with turn:
            clock.freeze()
        yield _now(clock)

    async def thaw(request: Request) -> Items:
        Fields(request).end()
        async with turn:
            clock.thaw()
        yield _now(clock)

    async def now(request: Request) -> Items:
        Fields(request).end()
        yield _now(clock)

    return {
        "clock.advance": advance,
        "clock.jump": jump,
        "clock.freeze": freeze,
        "clock.thaw": thaw,
        "clock.now": now,
    }


def _now(clock: MovableClock) -> dict[str, Any]:
    return {
        "now_ms": clock.now_ms(),
        "ahead_ms": clock.ahead_ms,
        "is_frozen": clock.is_frozen,
    }
