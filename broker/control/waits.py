"""Waits inside the broker: what a test would otherwise ask for again and again.

``wait`` (``until``: the name of a condition, its fields, ``timeout_ms``): one item with
``waited_ms``, when it holds. Where it does not in time, the error "timeout" says what
is missing. The time is real, also while the broker's clock stands still.

| ``until`` | fields | holds when |
|---|---|---|
| ``records`` | ``topic``, ``count``, ``partition`` | a committed reader sees so many |
| ``assigned`` | ``group``, ``members``, ``reading`` | so many, stable, and reading |
| ``acquired`` | ``group``, ``count`` | members of a share group have so many |
| ``lag`` | ``group``, ``topic`` | all is read and committed |
| ``committed`` | ``group``, ``topic``, ``partition``, ``offset`` | so far, at least |
| ``transaction`` | ``id``, ``state`` | it is in that state, or came by it |
| ``connections`` | ``at_most`` | no more clients are connected |
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import KafkaError

from .fields import Fields
from .waiting.assignments import Assignments
from .waiting.changes import Changes
from .waiting.conditions import conditions
from .waiting.fetch_watch import FetchWatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.broker.requests.services import Services

    from .waiting.conditions import Condition, Conditions


TIMEOUT_MS = 10_000
_TIMEOUT_MS_MAX = 24 * 3600 * 1000


class Waits:
    """Who waits for what in one broker; ``conditions`` is for other subjects, too."""

    def __init__(self, services: Services, listeners: Sequence[Listener]) -> None:
        self._services = services
        self.changes = Changes(services, listeners)
        fetches = FetchWatch(services, listeners)
        self.assignments = Assignments(services.metadata, fetches, self.changes.tell)
        services.groups.watchers.append(self.assignments.note_group)
        for listener in listeners:
            listener.watchers.append(self.assignments.note_gone)
        self.conditions: Conditions = conditions(
            services, listeners, self.changes, self.assignments
        )

    def requests(self) -> dict[str, AdminRequest]:
        """What answers each."""
        return {"wait": self._wait}

    async def _wait(self, request: Request) -> Items:
        fields = Fields(request)
        name = fields.choice("until", tuple(self.conditions))
        timeout_ms = fields.number(
            "timeout_ms", TIMEOUT_MS, at_least=0, at_most=_TIMEOUT_MS_MAX
        )
        condition = self.conditions[name](fields)
        began_s = monotonic()
        try:
            fields.end()
            missing = await self._missing_in_the_end(condition, timeout_ms)
        finally:
            condition.end()
        if missing:
            raise AdminError("timeout", f"{missing} (after {timeout_ms} ms)")
        yield {"waited_ms": round((monotonic() - began_s) * 1000, 3)}

    async def _missing_in_the_end(self, condition: Condition, timeout_ms: int) -> str:
        """Empty when it holds, else what is missing when the time is over."""
        changed = asyncio.Event()
        watch = self.changes.watch(changed.set)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._services.groups.runtime.loaded()
                await self._services.transactions.runtime.loaded()
                share_states = self._services.share_states_in_use
                if share_states is not None:
                    await share_states.runtime.loaded()
                while True:
                    places = list(condition.places())
                    watch.follow(places)
                    changed.clear()
                    await self._services.replica_manager.open(places)
                    if not _missing(condition):
                        return ""
                    await changed.wait()
        except TimeoutError:
            return _missing(condition)
        finally:
            self.changes.end(watch)


def _missing(condition: Condition) -> str:
    try:
        return condition.missing()
    except KafkaError as error:
        return str(error) or error.code.name
