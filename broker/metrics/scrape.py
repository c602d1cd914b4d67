"""One scrape: everything there is to tell, gathered on the loop a little at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .broker_families import broker_families
from .exposition import exposition
from .group_families import group_families
from .partition_families import PartitionFamilies

if TYPE_CHECKING:
    from .broker_families import MetricSources

# Partitions or groups between two moments in which the loop serves others: 2 ms.
TURN_SIZE = 200


async def scrape(sources: MetricSources) -> bytes:
    """The text for Prometheus.

    It is true part by part: between two of its turns the broker goes on.
    """
    families = list(broker_families(sources))
    partitions = PartitionFamilies(sources.services)
    left = TURN_SIZE
    for topic in list(sources.services.metadata):
        partitions.add(topic)
        left -= len(topic.partitions)
        if left <= 0:
            left = TURN_SIZE
            await asyncio.sleep(0)
    families += partitions
    left = TURN_SIZE
    for some in group_families(sources.services):
        families += some
        left -= 1
        if left <= 0:
            left = TURN_SIZE
            await asyncio.sleep(0)
    return exposition(families)
