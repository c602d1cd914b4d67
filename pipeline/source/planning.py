"""From options to stretches of offsets: what a batch reads, and in how many parts."""

from __future__ import annotations

import logging
import math
from itertools import pairwise
from typing import TYPE_CHECKING

from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.pipeline.errors import BadOption, DataLoss, SourceError
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.protocol.topic_partition import TopicPartition

from .positions import EachOffset, EachTime, Everywhere, SinceTime

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .log_view import LogEnd, LogView, TopicView
    from .options import SourceOptions
    from .positions import Position

    Bounds = Mapping[TopicPartition, tuple[int, int]]

_log = logging.getLogger(__name__)

# As many offsets as one task reads, if nobody says otherwise.
OFFSETS_PER_TASK = 1 << 18
# Fewer are one task, whatever they weigh: the brokers are not asked.
OFFSETS_WEIGHED = 1000
# And as much of a log, as it lies on the disk.
BYTES_PER_TASK = 128 << 20
# Partitions that have fewer are read together, up to so many offsets and partitions: a
# task of its own costs more than it reads.
OFFSETS_TOGETHER = 1 << 14
PLACES_TOGETHER = 500


class Planner:
    """Finds the partitions and their offsets, for one read or one micro-batch."""

    def __init__(self, view: LogView, options: SourceOptions) -> None:
        self.topic_ids: Mapping[str, bytes] = {}
        self._view = view
        self._options = options

    def ranges(self) -> list[OffsetRange]:
        """What a batch reads of each partition; nothing of one that is empty.

        Raises:
            SourceError: there is no such topic or partition.
            BadOption: the offsets do not fit the partitions.
            DataLoss: offsets that were asked for are gone, or not there yet.
        """
        places = self.places()
        bounds = self._bounds(places)
        starts = self._starts(bounds)
        ends = self._ends(bounds)
        for place in places:
            if self._are_given() and starts[place] > ends[place]:
                text = f"{place} begins at {starts[place]}, but ends at {ends[place]}."
                raise BadOption("startingOffsets", text)
        return [
            OffsetRange(*place, starts[place], ends[place])
            for place in places
            if starts[place] < ends[place]
        ]

    def places(self) -> list[TopicPartition]:
        """The partitions that the subscription means, as they are now.

        Raises:
            SourceError: one that is named is not there.
        """
        wanted = self._options.subscription
        topics = self._view.topics(None if wanted.pattern else wanted.named)
        found = {name: view for name, view in topics.items() if wanted.matches(name)}
        self.topic_ids = {name: view.topic_id for name, view in sorted(found.items())}
        if wanted.places:
            _check_there(wanted.places, found)
            return list(wanted.places)
        return sorted(
            TopicPartition(name, number)
            for name, view in found.items()
            for number in view.partitions
        )

    def starts(self) -> dict[TopicPartition, int]:
        """Where a stream begins in each partition."""
        return self._starts(self._bounds(self.places()))

    def ends(self) -> Mapping[TopicPartition, LogEnd]:
        """Where each partition ends now."""
        return self._view.ends(self.places())

    def _bounds(self, places: Sequence[TopicPartition]) -> Bounds:
        starts, ends = self._view.starts(places), self._view.ends(places)
        return {place: (starts[place], ends[place].offset) for place in places}

    def _starts(self, bounds: Bounds) -> dict[TopicPartition, int]:
        position = self._options.starting
        since = self._since(position, bounds)
        if since is None:
            return self._resolved("startingOffsets", position, bounds)
        starts = {}
        for place, offset in since.items():
            if offset is None and not self._options.starts_latest_without_match:
                raise SourceError(
                    f"{place} has no record of the time that startingTimestamp or "
                    "startingOffsetsByTimestamp says, or later. "
                    "startingOffsetsByTimestampStrategy=latest begins at its end."
                )
            starts[place] = bounds[place][1] if offset is None else offset
        return starts

    def _ends(self, bounds: Bounds) -> dict[TopicPartition, int]:
        position = self._options.ending
        since = self._since(position, bounds)
        if since is None:
            return self._resolved("endingOffsets", position, bounds)
        ends = {place: end for place, (_, end) in bounds.items()}
        for place, offset in since.items():
            if offset is not None:  # one that is not stable yet is behind the end
                ends[place] = min(offset, ends[place])
        return ends

    def _since(
        self, position: Position, bounds: Bounds
    ) -> Mapping[TopicPartition, int | None] | None:
        """The first offsets of a time; None for a position that is none."""
        if isinstance(position, SinceTime):
            return self._view.offsets_since(dict.fromkeys(bounds, position.time_ms))
        if isinstance(position, EachTime):
            _check_same("...OffsetsByTimestamp", position.times_ms, bounds)
            return self._view.offsets_since(position.times_ms)
        return None

    def _resolved(
        self,
        option: str,
        position: Position,
        bounds: Bounds,
    ) -> dict[TopicPartition, int]:
        if isinstance(position, Everywhere):
            wanted: Mapping[TopicPartition, int] = dict.fromkeys(bounds, position.where)
        else:
            assert isinstance(position, EachOffset), position
            wanted = position.offsets
            _check_same(option, wanted, bounds)
        found = {}
        for place, offset in wanted.items():
            start, end = bounds[place]
            found[place] = {EARLIEST: start, LATEST: end}.get(offset, offset)
            if not start <= found[place] <= end:
                lose(
                    f"{option}: {place} has the offsets from {start} to {end}, and "
                    f"{offset} was asked for.",
                    self._options,
                )
                found[place] = min(max(offset, start), end)
        return found

    def _are_given(self) -> bool:
        return isinstance(self._options.starting, EachOffset)


def lose(reason: str, options: SourceOptions) -> None:
    """Records are missing: the end of it, unless ``failOnDataLoss=false``.

    Raises:
        DataLoss: with ``reason``.
    """
    if options.fails_on_data_loss:
        raise DataLoss(
            f"{reason} failOnDataLoss=false reads what there is, without them."
        )
    _log.warning("%s Going on without them (failOnDataLoss=false).", reason)


def weights(
    ranges: Sequence[OffsetRange], view: LogView
) -> Mapping[TopicPartition, float]:
    """Bytes of an offset, of those partitions that may be more than one task."""
    large = [each.place for each in ranges if each.count > OFFSETS_WEIGHED]
    return view.bytes_per_offset(large) if large else {}


class OffsetSizes:
    """The same, batch after batch: who is not told them once does not ask again."""

    def __init__(self) -> None:
        self._is_told = True

    def of(
        self, ranges: Sequence[OffsetRange], view: LogView
    ) -> Mapping[TopicPartition, float]:
        """Bytes of an offset, as `weights` has them."""
        if not self._is_told:
            return {}
        found = weights(ranges, view)
        if not found and any(each.count > OFFSETS_WEIGHED for each in ranges):
            self._is_told = False
        return found


def split(
    ranges: Sequence[OffsetRange],
    options: SourceOptions,
    weights: Mapping[TopicPartition, float] | None = None,
) -> list[OffsetRange]:
    """The same offsets in parts of about one size, in order.

    At least ``minPartitions`` of them, none above ``maxRecordsPerPartition``, and by
    ``weights``, the bytes of an offset, none much above `BYTES_PER_TASK`.
    """
    total = sum(each.count for each in ranges)
    most = options.max_records_per_partition or OFFSETS_PER_TASK
    least = min(options.min_partitions or 1, total)

    def count_of(each: OffsetRange) -> int:
        size = each.count * (weights or {}).get(each.place, 0)
        by_bytes = min(math.ceil(size / BYTES_PER_TASK), each.count)
        return max(-(-each.count // most), -(-each.count * least // total), by_bytes)

    return [part for each in ranges for part in _parts(each, count_of(each))]


def together(
    parts: Sequence[OffsetRange], options: SourceOptions
) -> list[tuple[OffsetRange, ...]]:
    """What each task reads: a large part, or small ones that follow each other.

    There are at least ``minPartitions`` tasks, if there are as many parts, and none has
    more offsets than ``maxRecordsPerPartition``.
    """
    most = min(OFFSETS_TOGETHER, options.max_records_per_partition or OFFSETS_TOGETHER)
    tasks: list[tuple[OffsetRange, ...]] = []
    count = most
    for part in parts:
        if tasks and count + part.count <= most and len(tasks[-1]) < PLACES_TOGETHER:
            tasks[-1] += (part,)
            count += part.count
        else:
            tasks.append((part,))
            count = part.count
    if len(tasks) < (options.min_partitions or 0):
        return [(part,) for part in parts]
    return tasks


def _parts(whole: OffsetRange, count: int) -> list[OffsetRange]:
    cuts = [whole.start + whole.count * number // count for number in range(count + 1)]
    return [whole._replace(start=start, end=end) for start, end in pairwise(cuts)]


def _check_there(
    places: Collection[TopicPartition], topics: Mapping[str, TopicView]
) -> None:
    for place in places:
        numbers = topics[place.topic].partitions
        if place.partition not in numbers:
            raise SourceError(
                f"Topic {place.topic} has no partition {place.partition}, but "
                f"{len(numbers)}."
            )


def _check_same(
    option: str,
    given: Collection[TopicPartition],
    places: Collection[TopicPartition],
) -> None:
    """The connector too wants every partition named, and no other."""
    missing = sorted(set(places) - set(given))
    if missing:
        text = f"must name every partition; {', '.join(map(str, missing))} is missing."
        raise BadOption(option, text)
    others = sorted(set(given) - set(places))
    if others:
        text = f"names {', '.join(map(str, others))}, which is not read."
        raise BadOption(option, text)
