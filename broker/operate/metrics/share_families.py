"""What is told of share groups: who reads, and what they have not finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exposition import Family, counter, gauge, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.requests.services import Services

# As the types of acknowledgements are numbered on the wire.
_ACKNOWLEDGED_AS = ("gap", "accept", "release", "reject", "renew")


def share_families(services: Services) -> Iterator[Family]:
    """The families of all share groups; while there are none, nothing is loaded."""
    sharing = services.sharing_in_use
    sessions = gauge(
        "kafka_server_sharesessioncache_sharesessionscount",
        "Members of share groups that fetch.",
    )
    partitions = gauge(
        "kafka_server_sharesessioncache_sharepartitionscount",
        "Partitions that these read.",
    )
    acquired = counter(
        "odradek_share_acquired_records_total",
        "Records that share groups were handed, each time.",
    )
    expired = counter(
        "odradek_share_expired_locks_total",
        "Records that a member did not acknowledge in time.",
    )
    acknowledged = counter(
        "kafka_server_sharegroupmetrics_recordacknowledgement_total",
        "What members have said of records.",
    )
    if sharing is None:
        for family in (sessions, partitions, acquired, expired):
            family.add(0)
        yield from (sessions, partitions, acquired, expired)
        yield _per_type(acknowledged, [0] * len(_ACKNOWLEDGED_AS))
        yield from _per_partition(services)
        return
    sessions.add(len(sharing.sessions))
    partitions.add(sharing.sessions.partition_count)
    acquired.add(sharing.handing_out.acquired_count)
    expired.add(sharing.expired_count)
    yield from (sessions, partitions, acquired, expired)
    yield _per_type(acknowledged, sharing.acknowledged_counts)
    yield from _per_partition(services)


def _per_type(family: Family, counts: list[int]) -> Family:
    for name, count in zip(_ACKNOWLEDGED_AS, counts, strict=True):
        family.add(count, labels(ackType=name))
    return family


def _per_partition(services: Services) -> Iterator[Family]:
    in_flight = gauge(
        "kafka_server_sharepartitionmetrics_inflightmessagecount",
        "Offsets that a share group has begun with and not finished.",
    )
    held = gauge(
        "odradek_share_locked_records", "Records that members of a share group have."
    )
    start = gauge(
        "odradek_share_start_offset", "Where a share group is in a partition."
    )
    sharing = services.sharing_in_use
    for served in sharing.served() if sharing is not None else ():
        if served.is_loaded:
            state, (topic, partition) = served.state, served.topic_partition
            text = labels(group=served.key.group_id, topic=topic, partition=partition)
            in_flight.add(state.end - state.start + 1, text)
            held.add(state.held_count, text)
            start.add(state.start, text)
    yield from (in_flight, held, start)
