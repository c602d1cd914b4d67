"""Whether offsets still mean the records that were committed.

A job goes on from an offset, which says nothing of the log that it is looked up in.
The topic may have been deleted and created again (its id tells), a broker without
durable storage may have lost a tail and given its offsets out again (the epoch of the
last committed record then ends before it, KIP-320), and retention may have removed
what was not read yet. Each of them stops the job.

What the ranges say of a batch is asked before its records are read: records that are
exchanged while they are read then have a later epoch than the commit says, and the
next batch finds that out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.client.leader_epochs import UNKNOWN, epoch_ends
from odradek.client.list_offsets import EARLIEST, LATEST, list_offsets
from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.security.words import is_final
from odradek.pipeline.tables.commit import NO_EPOCH, CommittedRange
from odradek.protocol.uuids import ZERO_UUID, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.client.cluster import Cluster
    from odradek.client.leader_epochs import EpochEnd
    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.tables.commit import Commit
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

_GO_ON = (
    "; to read on from what is there, give the job a new name, table and checkpoint, "
    "and say where with starting_offsets"
)


class Continuity:
    """Compares what a job has committed with what the cluster has."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def confirm(
        self, last: Commit | None, planned: Sequence[OffsetRange]
    ) -> tuple[CommittedRange, ...]:
        """All ranges of the commit to come, with topic ids and leader epochs.

        Partitions that are not planned keep their end.

        Raises:
            JobStopped: a topic is another one, or records are lost or exchanged.
            KafkaError: a leader does not answer in time.
        """
        before = {each.place: each for each in last.ranges} if last else {}
        topic_ids = self._topic_ids(sorted({each.topic for each in planned}))
        for each in planned:
            known = before.get(each.place)
            if known:
                _check_topic(known, topic_ids[each.topic])
        self._check_retention({e.place: e.start for e in planned if e.count > 0})
        epochs = self._epochs(before, planned)
        ranges = dict(before)
        for place, old in before.items():
            ranges[place] = old._replace(start=old.end)
        for each in planned:
            if each.count <= 0 and each.place in before:
                continue
            ranges[each.place] = CommittedRange(
                *each, topic_ids[each.topic], epochs.get(each.place, NO_EPOCH)
            )
        return tuple(ranges[place] for place in sorted(ranges))

    def check(self, last: Commit) -> None:
        """Confirm all that is committed, before anything new is read.

        Raises:
            JobStopped: as `confirm` does.
            KafkaError: a leader does not answer in time.
        """
        topic_ids = self._topic_ids(sorted({each.topic for each in last.ranges}))
        for each in last.ranges:
            _check_topic(each, topic_ids[each.topic])
        self._check_retention(last.ends)
        known = {each.place: each for each in last.ranges if each.leader_epoch >= 0}
        ends = self._ends({place: each.leader_epoch for place, each in known.items()})
        for place, end in ends.items():
            _check_epoch(known[place], end)

    def _topic_ids(self, topics: list[str]) -> dict[str, str]:
        if not topics:
            return {}
        metadata = self._cluster.metadata(topics)
        ids = {}
        for name in topics:
            topic = metadata.topics.get(name)
            if topic is None:
                reason = metadata.failed.get(name)
                if reason is not None and is_final(reason):
                    raise type(reason)(f"topic {name}: {reason}")
                raise JobStopped(f"topic {name}: {reason or 'it is not there'}")
            ids[name] = "" if topic.topic_id == ZERO_UUID else to_text(topic.topic_id)
        return ids

    def _check_retention(self, starts: Mapping[TopicPartition, int]) -> None:
        listing = list_offsets(self._cluster, dict.fromkeys(starts, EARLIEST))
        _raise_first(listing.failed)
        for place, listed in listing.found.items():
            start = starts[place]
            if start < listed.offset:
                raise JobStopped(
                    f"{place}: the job is at offset {start}, but the log begins at "
                    f"{listed.offset}: retention removed {listed.offset - start} "
                    f"offsets that were not read yet{_GO_ON}"
                )

    def _epochs(
        self,
        before: Mapping[TopicPartition, CommittedRange],
        planned: Sequence[OffsetRange],
    ) -> dict[TopicPartition, int]:
        """The leader epoch of the last record of each range that is not empty."""
        known = {
            place: each.leader_epoch
            for place, each in before.items()
            if each.leader_epoch != NO_EPOCH
        }
        wanted = {each.place: each.end - 1 for each in planned if each.count > 0}
        known = {place: epoch for place, epoch in known.items() if place in wanted}
        ends = self._ends(known)
        for place, end in ends.items():
            _check_epoch(before[place], end)
        found: dict[TopicPartition, int] = {}
        rest = {}
        for place, offset in wanted.items():
            if place in ends and ends[place].end_offset > offset:
                found[place] = ends[place].leader_epoch
            else:
                rest[place] = offset
        found.update(self._search(rest, known))
        return found

    def _search(
        self,
        offsets: Mapping[TopicPartition, int],
        known: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, int]:
        """The lowest epoch that ends behind the offset, by halves."""
        if not offsets:
            return {}
        latest = list_offsets(self._cluster, dict.fromkeys(offsets, LATEST))
        _raise_first(latest.failed)
        low = {place: known.get(place, 0) for place in offsets}
        high = {place: latest.found[place].leader_epoch for place in offsets}
        found = {place: NO_EPOCH for place, epoch in high.items() if epoch < 0}
        while open_places := [place for place in offsets if place not in found]:
            middle = {p: (low[p] + high[p]) // 2 for p in open_places}
            for place, end in self._ends(middle).items():
                if low[place] >= high[place]:
                    found[place] = high[place]
                elif end.end_offset > offsets[place]:
                    high[place] = middle[place]
                else:
                    low[place] = middle[place] + 1
        return found

    def _ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd]:
        ends = epoch_ends(self._cluster, epochs)
        _raise_first(ends.failed)
        return ends.found


def _check_topic(known: CommittedRange, topic_id: str) -> None:
    if known.topic_id and topic_id and known.topic_id != topic_id:
        raise JobStopped(
            f"topic {known.topic} is another one now: it was deleted and created again "
            f"(its id was {known.topic_id} and is {topic_id}){_GO_ON}"
        )


def _check_epoch(known: CommittedRange, end: EpochEnd) -> None:
    """The log still has the last committed record, written in the same epoch."""
    if end.end_offset == UNKNOWN or end.end_offset < known.end:
        has = (
            "no longer knows such an epoch"
            if end.end_offset == UNKNOWN
            else f"left that epoch at {end.end_offset}"
        )
        raise JobStopped(
            f"{known.place}: the table has records up to offset {known.end}, the last "
            f"of them of leader epoch {known.leader_epoch}, but the log {has}: the "
            "broker lost records that the table has, and may have given their offsets "
            f"to others{_GO_ON}"
        )


def _raise_first(failed: Mapping[TopicPartition, KafkaError]) -> None:
    for place, error in failed.items():
        raise type(error)(f"{place}: {error}")
