"""``journal.begin``, ``journal.end``, ``calls``.

``calls``: the calls from number ``since`` on (by default all that are there) that are
as ``match`` says (as in ``faults.arm``), with the error ``error`` (``NONE``: without
any), or that ``rule`` was at work on. The first item says how many between ``since``
and the first one that is there are ``lost``, and at which number to go on (``next``).
With ``count`` it waits until so many have come, at most ``timeout_ms``, and gives what
there is; with ``follow`` it goes on until nobody asks any more. ``records``: decoded,
unless the call was larger than 16 KiB; else they are a count and a size.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.control.faults.codes import code_named
from odradek.broker.control.faults.match import Match
from odradek.broker.control.fields import Fields
from odradek.broker.operate.admin_socket import AdminError

from .reading import Reading

if TYPE_CHECKING:
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.broker.requests.dispatch import Dispatcher
    from odradek.broker.requests.services import Services

    from .journal import Journal
    from .recorded import Recorded


_TIMEOUT_MS = 10_000
_TIMEOUT_MS_MAX = 3_600_000
_NO_JOURNAL = (
    "no call is written down: they are from journal.begin on, in Python within "
    "`with broker.journal()`"
)


class Asked(NamedTuple):
    """Which calls somebody wants."""

    since: int
    match: Match
    code: str | None
    rule: int | None
    wanted_count: int | None
    timeout_s: float
    follow: bool
    reading: Reading

    def of(self, calls: list[Recorded]) -> list[Recorded]:
        """Those of them that are wanted."""
        return [
            call
            for call in calls
            if self.reading.is_meant(call, self.match, self.code, self.rule)
        ]


def journal_requests(
    journal: Journal, dispatcher: Dispatcher, services: Services
) -> dict[str, AdminRequest]:
    """What answers each."""

    async def begin(request: Request) -> Items:
        Fields(request).end()
        yield {"next": journal.begin()}

    async def end(request: Request) -> Items:
        Fields(request).end()
        journal.end()
        yield {"next": journal.next_number}

    async def calls(request: Request) -> Items:
        asked = _asked(request, dispatcher, services)
        if not journal.is_on and not journal.calls:
            raise AdminError("journal-off", _NO_JOURNAL)
        number = journal.next_number if asked.since < 0 else asked.since
        lost = max(0, min(journal.first_number, journal.next_number) - number)
        if asked.wanted_count is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(_come(journal, asked, number), asked.timeout_s)
        yield {"lost": lost, "next": journal.next_number}
        while True:
            found = journal.since(number)
            number = journal.next_number
            for call in asked.of(found):
                yield asked.reading.item(call)
            if not asked.follow:
                return
            await _next(journal)

    return {"journal.begin": begin, "journal.end": end, "calls": calls}


async def _come(journal: Journal, asked: Asked, number: int) -> None:
    """Return when so many calls as are wanted have come."""
    count = 0
    while True:
        count += len(asked.of(journal.since(number)))
        number = journal.next_number
        if count >= (asked.wanted_count or 0):
            return
        await _next(journal)


async def _next(journal: Journal) -> None:
    """Return when there are more calls."""
    come = asyncio.Event()
    journal.listen(come.set)
    try:
        await come.wait()
    finally:
        journal.unlisten(come.set)


def _asked(request: Request, dispatcher: Dispatcher, services: Services) -> Asked:
    fields = Fields(request)
    error = fields.text("error", None)
    asked = Asked(
        fields.number("since", 0),
        Match.of(fields.mapping("match", {}), services.metadata),
        None if error is None else code_named(error).name,
        fields.number("rule", None),
        fields.number("count", None, at_least=1),
        fields.number("timeout_ms", _TIMEOUT_MS, at_least=0, at_most=_TIMEOUT_MS_MAX)
        / 1000,
        fields.flag("follow", False),
        Reading(dispatcher, services, has_records=fields.flag("records", False)),
    )
    fields.end()
    return asked
