"""Where a new job begins: decided once, as offsets, before anything is read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from odradek.client.list_offsets import EARLIEST, LATEST, NO_OFFSET, list_offsets
from odradek.pipeline.errors import did_you_mean
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.security.words import is_final
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.client.cluster import Cluster

    from .job_source import Source

_NAMED = {"earliest": EARLIEST, "latest": LATEST}


def subscribed(cluster: Cluster, source: Source) -> dict[str, list[int]]:
    """The partitions of the topics that a job reads, as they are now.

    Raises:
        JobError: a topic that is named is not there.
    """
    metadata = cluster.metadata(source.topics or None)
    found = {}
    for name in source.topics or sorted(metadata.topics):
        topic = metadata.topics.get(name)
        if topic is None:
            error = metadata.failed.get(name)
            if error is not None and is_final(error):
                raise type(error)(f"topic {name}: {error}")
            hint = did_you_mean(name, cluster.metadata().topics)
            reason = str(metadata.failed.get(name, "it is not there")).rstrip(".")
            raise JobError(
                f"topic {name}: {reason} (brokers: {source.bootstrap_servers}).{hint}"
                " `odradek topic list` shows those that there are"
            )
        if source.topics or re.fullmatch(source.topic_pattern, name):
            found[name] = sorted(topic.leaders)
    return found


def starting_offsets(cluster: Cluster, source: Source) -> dict[TopicPartition, int]:
    """The first offset of each partition that a new job reads.

    Raises:
        JobError: what the job file says cannot be followed.
        KafkaError: a leader does not answer in time.
    """
    topics = subscribed(cluster, source)
    places = [TopicPartition(name, n) for name, ns in topics.items() for n in ns]
    wanted = source.starting_offsets
    if isinstance(wanted, dict):
        return _given(places, wanted)
    if wanted in _NAMED:
        return listed(cluster, dict.fromkeys(places, _NAMED[wanted]), source)
    moment = dict.fromkeys(places, moment_ms("starting_offsets", wanted))
    found = listed(cluster, moment, source)
    later = {place: LATEST for place, offset in found.items() if offset == NO_OFFSET}
    return found | listed(cluster, later, source)


def listed(
    cluster: Cluster, times: Mapping[TopicPartition, int], source: Source
) -> dict[TopicPartition, int]:
    """The offsets at these times.

    Raises:
        KafkaError: a leader does not answer in time.
    """
    listing = list_offsets(cluster, times, committed=source.is_committed)
    for place, error in listing.failed.items():
        raise type(error)(f"{place}: {error}")
    return {place: each.offset for place, each in listing.found.items()}


def _given(
    places: list[TopicPartition], wanted: dict[str, dict[str, int]]
) -> dict[TopicPartition, int]:
    found = {}
    for place in places:
        offset = wanted.get(place.topic, {}).get(str(place.partition))
        if not isinstance(offset, int) or offset < 0:
            raise JobError(
                f"[source] starting_offsets says nothing of {place}; name every "
                f'partition: starting_offsets = {{ {place.topic} = {{ "0" = 12 }} }}'
            )
        found[place] = offset
    return found


def moment_ms(where: str, text: str) -> int:
    """An ISO 8601 date and time, in ms since 1970; UTC where it has no zone.

    Raises:
        JobError: it is none.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise JobError(
            f"{where}: {text!r} is neither earliest nor latest, and no date and time; "
            "write it like 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
