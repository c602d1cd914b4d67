"""One scrape: everything there is to tell, gathered on the loop a little at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .broker_families import broker_families
from .exposition import exposition
from .group_families import group_families
from .mirror_families import mirror_families
from .partition_families import PartitionFamilies
from .share_families import share_families

if TYPE_CHECKING:
    from .broker_families import MetricSources

# Partitions, or offsets of groups, between two moments in which the loop serves others:
# half a millisecond. Of lines that are only put together it is so many more.
TURN_SIZE = 50
_LINES_EACH = 20


class Turns:
    """Lets the loop serve others when so much has been done."""

    def __init__(self) -> None:
        self._left = float(TURN_SIZE)

    async def did(self, share: float = 1) -> None:
        """So much more has been done."""
        self._left -= share
        if self._left <= 0:
            self._left = TURN_SIZE
            await asyncio.sleep(0)


async def scrape(sources: MetricSources) -> bytes:
    """The text for Prometheus.

    It is true part by part: between two of its turns the broker goes on.
    """
    turns = Turns()
    families = []
    for family in broker_families(sources):
        families.append(family)
        await turns.did(1 + len(family.lines) / _LINES_EACH)
    partitions = PartitionFamilies(sources.services)
    for topic in list(sources.services.metadata):
        for _ in partitions.add(topic):
            await turns.did()
    families += partitions
    families += share_families(sources.services)
    families += mirror_families(sources.services)
    for some in group_families(sources.services):
        families += some
        await turns.did()
    parts = []
    for family in families:
        parts.append(exposition(family).encode())
        share = len(family.lines) / _LINES_EACH
        family.lines.clear()  # not those of all families at once: it takes a while
        await turns.did(share)
    return b"".join(parts)
