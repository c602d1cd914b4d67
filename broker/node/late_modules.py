"""What is loaded when the listeners are open, before the broker says that it is ready.

The first answer needs little of the broker; the rest would only delay it. What nearly
every client asks for next is loaded here, a module a turn, so that clients which
connect meanwhile are answered between two of them. A request that comes before its
modules loads them itself; what is rarely asked for has no other way (`handlers`,
`parts`).

What only logs need is loaded in the same way when the first topic is made: a broker
without one does not hold it, and the first record does not wait for all of it at once.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

LATE_MODULES: Final = (
    "replica.replica_manager",
    "handlers.topics.metadata",
    "handlers.records.produce",
    "handlers.records.usual_produce",
    "handlers.records.fetch",
    "handlers.records.usual_fetch",
    "handlers.records.list_offsets",
    "handlers.groups.find_coordinator",
    "coordinator.group.service",
    "handlers.groups.classic_groups",
    "handlers.groups.offset_commit",
    "handlers.groups.usual_commit",
    "handlers.groups.offset_fetch",
    "coordinator.transaction.service",
    "handlers.transactions.init_producer_id",
    "upkeep.compaction.cleaning",
    "node.jobs",
    "node.closing",  # not when it stops: files may be short
    "operate.admin_requests",
)

# Each with what the ones before it have not loaded: a few milliseconds.
LOG_MODULES: Final = (
    "producers.states",
    "producers.replay",
    "log.abort_index",
    "log.appender",
    "log.truncation",
    "log.unified_log",
    "opening.found_damage",
    "opening.leftovers",
    "opening.loader",
)


async def load_late() -> None:
    """Load what nearly every client asks for."""
    await _load(f"odradek.broker.{name}" for name in LATE_MODULES)


async def load_for_logs() -> None:
    """Load what the first log needs."""
    await _load(f"odradek.storage.{name}" for name in LOG_MODULES)


async def _load(names: Iterable[str]) -> None:
    """With a turn of the loop for requests after each."""
    for name in names:
        import_module(name)
        await asyncio.sleep(0)
