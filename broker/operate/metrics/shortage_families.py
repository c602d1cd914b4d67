"""What is told of writes for which there is no room."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.broker.metadata.topic_names import INTERNAL_TOPICS

from .exposition import Family, counter, gauge, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.requests.services import Services


def shortage_families(services: Services) -> Iterator[Family]:
    """Which directories are full, and what waits for room in them."""
    shortage = services.shortage
    full = gauge(
        "odradek_directory_full",
        "Whether writes are refused for want of room, until there is some.",
    )
    for directory in shortage.directories:
        is_full = directory in shortage.full_directories
        full.add(int(is_full), labels(directory=directory))
    yield full
    unrecorded = gauge(
        "odradek_unrecorded_partitions",
        "Partitions whose first records wait for room in the catalogue.",
    )
    unrecorded.add(len(shortage.unrecorded))
    yield unrecorded
    stuck = gauge(
        "odradek_coordinators_without_room",
        "Partitions of a coordinator that take no writes for want of room.",
    )
    counts = Counter(each.topic for each in shortage.coordinators)
    for topic in sorted(INTERNAL_TOPICS):
        stuck.add(counts[topic], labels(topic=topic))
    yield stuck
    refused = counter(
        "odradek_no_room_total", "Writes that were refused for want of room."
    )
    appends = services.replica_manager.appends.no_room_count
    refused.add(appends, labels(what="log"))
    refused.add(services.metadata.catalog_no_room_count, labels(what="catalogue"))
    yield refused
