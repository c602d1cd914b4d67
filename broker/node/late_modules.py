"""What is loaded when the listeners are open, before the broker says that it is ready.

The first answer needs little of the broker; the rest would only delay it. What nearly
every client asks for next is loaded here, a module a turn, so that clients which
connect meanwhile are answered between two of them. A request that comes before its
modules loads them itself; what is rarely asked for has no other way (`handlers`,
`parts`).
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Final

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
    "handlers.groups.offset_fetch",
    "coordinator.transaction.service",
    "handlers.transactions.init_producer_id",
    "compaction.cleaning",
    "node.jobs",
    "operate.admin_requests",
)


async def load_late() -> None:
    """Load all of them, with a turn of the loop for requests after each."""
    for name in LATE_MODULES:
        import_module(f"odradek.broker.{name}")
        await asyncio.sleep(0)
