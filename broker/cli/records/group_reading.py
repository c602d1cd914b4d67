"""Reading for ``consume --group``: what the group gives, committed when written."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.broker.cli.group.plan import scope
from odradek.client.fetcher import Fetcher, FetchLimits
from odradek.client.group_member import LOST, GroupMember
from odradek.client.record_reader import read_records
from odradek.protocol.errors import KafkaError, MalformedRequest, OffsetOutOfRange
from odradek.terminal.ending import Ending

from .read_range import bounds_of, check_offset, offsets_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator
    from types import TracebackType
    from typing import Self

    from odradek.client.cluster import Cluster
    from odradek.client.fetcher import Fetched
    from odradek.protocol.records import Record
    from odradek.protocol.topic_partition import TopicPartition

    from .read_range import Bounds

    Offsets = dict[TopicPartition, int]

_COMMIT_S = 1.0
_PAUSE_S = 0.2
_SETTLE_S = 5.0  # what is on its way from one member to another comes later
# Who is told to end waits no longer for a broker that does not answer.
_LEAVE_TIMEOUT_S = 5.0


class GroupReading:
    """Records of the partitions that a group gives to this member.

    What `answers` has yielded counts as written when the next one is asked for, or
    when `written` is called; only that is committed.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: argparse.Namespace,
        limits: FetchLimits,
        ending: Ending | None = None,
    ) -> None:
        """Join nothing yet. ``ending`` is asked whether to go on.

        Raises:
            Refused: a topic is not there.
        """
        self._cluster = cluster
        self._ending = ending or Ending()
        self._begin = options.offset
        self._committed = not options.uncommitted
        self._limits = limits
        self._ends = self._ends_of(options)
        topics = sorted({name for name, _ in options.topic})
        self._member = GroupMember(cluster, options.group, topics)
        self._fetcher = Fetcher(cluster, committed=self._committed)
        self._is_in = False
        self._joined_s = self._committed_s = time.monotonic()
        self._offsets: Offsets = {}  # where each partition goes on
        self._handed: tuple[TopicPartition, int] | None = None  # perhaps not written
        self._to_commit: Offsets = {}

    def _ends_of(self, options: argparse.Namespace) -> Offsets | None:
        """Where each partition ends; None when this goes on for ever."""
        committed = self._committed
        places = scope(self._cluster, options.topic, {})
        if options.until is None and not options.exit:
            return None
        bounds = bounds_of(self._cluster, places, committed=committed)
        if options.until is not None:
            return offsets_of(self._cluster, options.until, bounds, committed=committed)
        return {place: each.end for place, each in bounds.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave(is_told=kind is not None)

    def leave(self, *, is_told: bool) -> None:
        """Commit what was written, and leave the group; once it has left, nothing."""
        self._ending.is_leaving = not is_told
        try:
            if not is_told:
                self._commit()
            else:
                timeout_s = min(self._cluster.timeout_s, _LEAVE_TIMEOUT_S)
                self._cluster.timeout_s = timeout_s
                with suppress(KafkaError, OSError, MalformedRequest):
                    self._commit(tried_s=0)
        finally:
            if not self._ending.is_urgent:
                self._member.leave()
            self._ending.is_leaving = False

    def answers(self) -> Iterator[Iterator[tuple[TopicPartition, Record]]]:
        """The records of one answer after the other, until all partitions end."""
        while True:
            self._ending.check()
            self._stay()
            wanted = self._unfinished()
            if not wanted:
                if self._is_at_end():
                    return
                time.sleep(_PAUSE_S)
                continue
            found = self._fetch(wanted)
            for place, fetched in found.items():
                yield self._records(place, fetched, wanted[place])
                self._go_on(place, fetched.next_offset(wanted[place]))
            is_idle = not any(fetched.records for fetched in found.values())
            if is_idle or time.monotonic() >= self._committed_s + _COMMIT_S:
                self._commit()

    def written(self) -> None:
        """All that was yielded is written, and may be committed."""
        if self._handed is not None:
            place, offset = self._handed
            self._go_on(place, offset)

    # Membership

    def _stay(self) -> None:
        """Be a member with something to read; join again when the group changes."""
        if self._is_in and self._member.is_settled():
            return
        self._commit()
        self._offsets = {}
        places = self._member.join()
        self._is_in = True
        self._joined_s = time.monotonic()
        known = self._member.committed()
        self._offsets = {
            place: known[place].offset for place in places if place in known
        }
        _tell(f"reads {', '.join(map(str, places)) or 'nothing'}")
        self._begin_anew(set(places) - self._offsets.keys())
        self._keep_inside()

    def _begin_anew(self, places: Collection[TopicPartition]) -> None:
        """Begin where the command line says; the group knows it from then on."""
        if places:
            remarks = check_offset(self._cluster, self._begin, sorted(places), {})
            for remark in remarks:
                _tell(remark, always=True)
            bounds = bounds_of(self._cluster, sorted(places), committed=self._committed)
            found = offsets_of(
                self._cluster, self._begin, bounds, committed=self._committed
            )
            self._offsets.update(found)
            self._to_commit.update(found)

    def _keep_inside(self) -> bool:
        """Begin anew where the log has not what comes next; whether there was any."""
        places = sorted(self._offsets)
        bounds = bounds_of(self._cluster, places, committed=False)
        outside = [
            place
            for place in places
            if not bounds[place].start <= self._offsets[place] <= bounds[place].end
        ]
        for place in outside:
            _tell(_loss(place, self._offsets[place], bounds[place]), always=True)
        self._begin_anew(outside)
        return bool(outside)

    def _commit(self, tried_s: float | None = None) -> None:
        offsets, self._to_commit = self._to_commit, {}
        if not offsets:
            return
        try:
            self._member.commit(offsets, tried_s)
        except LOST:
            self._is_in = False
            _tell(
                "the group has gone on without this member: others read again what"
                " was not yet committed",
                always=True,
            )
        self._committed_s = time.monotonic()

    # Reading

    def _unfinished(self) -> Offsets:
        ends = self._ends
        if ends is None:
            return dict(self._offsets)
        return {
            place: offset
            for place, offset in self._offsets.items()
            if offset < ends.get(place, 0)
        }

    def _is_at_end(self) -> bool:
        if self._ends is None:
            return False
        return bool(self._offsets) or time.monotonic() > self._joined_s + _SETTLE_S

    def _fetch(self, wanted: Offsets) -> dict[TopicPartition, Fetched]:
        try:
            return self._fetcher.fetch_many(wanted, self._limits)
        except OffsetOutOfRange:
            if not self._keep_inside():
                raise
            return {}

    def _records(
        self, place: TopicPartition, fetched: Fetched, offset: int
    ) -> Iterator[tuple[TopicPartition, Record]]:
        end = None if self._ends is None else self._ends.get(place)
        for record in read_records(fetched, offset, committed=self._committed):
            if end is not None and record.offset >= end:
                return
            self._handed = place, record.offset + 1
            yield place, record
            self._go_on(place, record.offset + 1)

    def _go_on(self, place: TopicPartition, offset: int) -> None:
        self._handed = None
        if self._ends is not None:
            offset = min(offset, self._ends.get(place, offset))
        if offset > self._offsets[place]:
            self._offsets[place] = self._to_commit[place] = offset


def _loss(place: TopicPartition, offset: int, bounds: Bounds) -> str:
    """What became of an offset that the group has, and the log has not."""
    if offset < bounds.start:
        return f"{place} no longer has offset {offset}; it begins at {bounds.start}"
    return (
        f"{place} has no offset {offset}, where the group is; it ends before"
        f" {bounds.end}"
    )


def _tell(text: str, *, always: bool = False) -> None:
    if always or sys.stderr.isatty():
        print(f"odradek consume: {text}", file=sys.stderr)
