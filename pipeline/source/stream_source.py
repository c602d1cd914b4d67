"""``spark.readStream.format("odradek")``: micro-batches with exact limits.

Planning runs in one process on the driver, for as long as the query does; reading runs
in the tasks, which know of the stream only their stretch of offsets. What a micro-batch
reads follows from its two offsets alone, so that one that is replayed reads the same.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from odradek.client.group_offsets import commit_offsets
from odradek.client.leader_epochs import UNKNOWN, epoch_ends
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.security.words import GROUP, Need, is_final, told
from odradek.protocol.errors import KafkaError

from .admission import Gate, limited
from .data_source import read_partition, wire_partitions
from .log_view import BrokerView, cluster_of, in_plain_words
from .path_view import segment_partitions
from .planning import OffsetSizes, Planner, lose
from .stream_offsets import StreamOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.streaming.datasource import ReadLimit

    from odradek.client.cluster import Cluster
    from odradek.protocol.topic_partition import TopicPartition

    from .data_source import Decoding
    from .options import SourceOptions

_log = logging.getLogger(__name__)

_SETTLE_S = 3.0

_Result = TypeVar("_Result")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says how far there is something to read, and reads it."""

    def __init__(self, options: SourceOptions, decoding: Decoding) -> None:
        self._options = options
        self._decoding = decoding
        self._target: StreamOffsets | None = None
        self._seen: StreamOffsets | None = None
        self._gate = Gate(options.max_trigger_delay_ms)
        self._cluster: Cluster | None = None
        self._has_answered = False
        self._sizes = OffsetSizes()

    # What Spark asks on the driver

    def initialOffset(self) -> dict[str, Any]:
        """Where ``startingOffsets`` says, for a query without a checkpoint."""

        def find(planner: Planner) -> StreamOffsets:
            starts = planner.starts()
            return StreamOffsets(starts, _known_ids(planner.topic_ids))

        return self._ask(find).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit of the options; of two, what they say is kept in mind here."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this query reads."""
        self._target = self._ask(self._latest)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Where the topics end, for the progress of the query."""
        return None if self._seen is None else self._seen.to_json()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """Where the next micro-batch ends; ``start`` itself when there is none.

        Raises:
            DataLoss, TopicRecreated: what comes next is not what followed ``start``.
        """
        before = StreamOffsets.of_json(start or {})
        latest = self._target or self._latest_after(before)
        self._seen = latest
        if start is None:  # as it is called where there is no admission control
            return latest.to_json()
        self._ask(lambda _: self._check_continuity(before, latest))
        starts = self._starts(before, latest)
        ends = self._admitted(starts, latest.ends, limit or ReadAllAvailable())
        if ends == before.ends and _agree(before.topic_ids, latest.topic_ids):
            return start
        epochs = {
            place: epoch
            for place in ends
            if (epoch := _epoch(place, before, latest, ends)) != UNKNOWN
        }
        return StreamOffsets(ends, latest.topic_ids, epochs).to_json()

    def partitions(
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> list[InputPartition]:
        """The stretches between two offsets, each for one task."""
        before, after = StreamOffsets.of_json(start), StreamOffsets.of_json(end)
        starts = self._starts(before, after)
        ranges = [
            OffsetRange(*place, starts[place], end_offset)
            for place, end_offset in after.ends.items()
            if starts[place] < end_offset
        ]
        if self._options.path is not None:
            return segment_partitions(ranges, self._options, after.topic_ids)
        view = BrokerView(self._connected(), committed=self._options.committed)
        sizes = self._sizes.of(ranges, view)
        return wire_partitions(ranges, self._options, after.topic_ids, sizes)

    def commit(self, end: dict[str, Any]) -> None:
        """Let the group of ``kafka.group.id`` show how far the query is.

        For lag tools only: nothing is read from there, and no failure stops anything.
        """
        group_id = self._options.group_id
        if group_id is None:
            return
        ends = StreamOffsets.of_json(end).ends
        cluster = self._connected()
        try:
            refused = commit_offsets(cluster, group_id, ends)
        except (KafkaError, OSError) as error:
            said = told(error, cluster.security, Need("Read", GROUP, group_id))
            _log.warning("Group %s does not show this query: %s", group_id, said)
            return
        for place, reason in refused.items():
            _log.warning("Group %s does not show %s: %s", group_id, place, reason)

    def stop(self) -> None:
        """Close the connections of the driver."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    # What runs in the tasks

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The rows of one stretch."""
        return read_partition(partition, self._options, self._decoding)

    # How it is found out

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = cluster_of(self._options)
        return self._cluster

    def _ask(self, question: Callable[[Planner], _Result]) -> _Result:
        """The answer of the brokers.

        Once they have answered, one that is away is waited for: a query outlives the
        restart of a broker.
        """
        cluster = self._connected()
        view = BrokerView(cluster, committed=self._options.committed)

        def may_pass(error: Exception) -> bool:
            is_lost = isinstance(error, ConnectionError) and not is_final(error)
            return self._has_answered and is_lost

        with in_plain_words(cluster.security):
            answer = cluster.retry.run(
                lambda: question(Planner(view, self._options)), may_pass
            )
        self._has_answered = True
        return answer

    def _latest(self, planner: Planner) -> StreamOffsets:
        ends = planner.ends()
        return StreamOffsets(
            {place: end.offset for place, end in ends.items()},
            _known_ids(planner.topic_ids),
            {place: end.leader_epoch for place, end in ends.items()},
        )

    def _latest_after(self, before: StreamOffsets) -> StreamOffsets:
        """The latest offsets, once they are not below those where the query is.

        A new leader may know a little less of what is committed for a moment. In the
        end it is what it says.
        """
        found = self._ask(self._latest)

        def look_again() -> None:
            nonlocal found
            if any(
                found.ends.get(place, end) < end for place, end in before.ends.items()
            ):
                found = self._ask(self._latest)
                raise _TooLow

        with suppress(_TooLow):
            self._connected().retry.run(
                look_again, lambda error: isinstance(error, _TooLow), _SETTLE_S
            )
        return found

    def _starts(
        self, before: StreamOffsets, after: StreamOffsets
    ) -> dict[TopicPartition, int]:
        """Where the partitions of ``after`` go on, or begin: at their first record."""
        known = {
            place: min(before.ends[place], end)  # above it where a loss was accepted
            for place, end in after.ends.items()
            if place in before.ends and _is_same(place.topic, before, after)
        }
        new = [place for place in after.ends if place not in known]
        if not new:
            return known
        view = BrokerView(self._connected(), committed=self._options.committed)
        first = self._ask(lambda _: view.starts(new))
        for place in new:
            if first[place] > 0:
                lose(
                    f"{place} is new to this query, and its first record is at offset "
                    f"{first[place]}.",
                    self._options,
                )
        return {
            **known,
            **{place: min(first[place], after.ends[place]) for place in new},
        }

    def _admitted(
        self,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        limit: ReadLimit,
    ) -> dict[TopicPartition, int]:
        is_limited = not isinstance(limit, ReadAllAvailable)
        least = self._options.min_offsets_per_trigger
        if is_limited and least is not None and self._target is None:
            waiting = sum(ends[place] - starts[place] for place in ends)
            if not self._gate.opens(waiting, least):
                return {place: starts[place] for place in ends}
        if isinstance(limit, ReadMaxRows):
            return limited(starts, ends, limit.max_rows)
        return dict(ends)

    def _check_continuity(self, before: StreamOffsets, latest: StreamOffsets) -> None:
        """Whether the logs still are those in which ``before`` was read."""
        for topic in sorted(before.topic_ids):
            if not _is_same(topic, before, latest):
                lose(
                    f"Topic {topic} was deleted and created again since: it is another "
                    "topic now.",
                    self._options,
                )
        for place in sorted(set(before.ends) - set(latest.ends)):
            lose(f"{place} was read, and is no longer there.", self._options)
        changed: dict[TopicPartition, int] = {}
        for place, end in before.ends.items():
            if place not in latest.ends or not _is_same(place.topic, before, latest):
                continue
            if latest.ends[place] < end:
                lose(
                    f"{place} was read up to offset {end}, and ends at "
                    f"{latest.ends[place]} now.",
                    self._options,
                )
            epoch = before.epochs.get(place, UNKNOWN)
            if epoch not in (UNKNOWN, latest.epochs.get(place)):
                changed[place] = epoch
        if changed:
            self._check_epochs(before, changed)

    def _check_epochs(
        self, before: StreamOffsets, epochs: Mapping[TopicPartition, int]
    ) -> None:
        """A later leader must have all that was read (KIP-320)."""
        for place, found in epoch_ends(self._connected(), epochs).found.items():
            end = found.end_offset
            if end != UNKNOWN and end < before.ends[place]:
                lose(
                    f"{place} was read up to offset {before.ends[place]}, but its "
                    f"leader knows what was written then only up to {end}: the offsets "
                    "from there on were given to other records.",
                    self._options,
                )


class _TooLow(Exception):
    """A log ends before the offset that was read up to."""


def _known_ids(topic_ids: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: topic_id for name, topic_id in topic_ids.items() if any(topic_id)}


def _is_same(topic: str, before: StreamOffsets, after: StreamOffsets) -> bool:
    """Whether it is not known to be another topic of this name."""
    ids = before.topic_ids.get(topic), after.topic_ids.get(topic)
    return None in ids or ids[0] == ids[1]


def _agree(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bool:
    return all(
        after.get(topic, topic_id) == topic_id for topic, topic_id in before.items()
    )


def _epoch(
    place: TopicPartition,
    before: StreamOffsets,
    latest: StreamOffsets,
    ends: Mapping[TopicPartition, int],
) -> int:
    """The leader epoch of an end: the one before, where nothing was added."""
    if ends[place] == before.ends.get(place) and place in before.epochs:
        return before.epochs[place]
    return latest.epochs.get(place, UNKNOWN)
