"""Batches on their way to the leaders, until each is written or is given up.

Batches of one partition stay in order. When something fails, nothing new is sent
until all that is in flight has its answer; then what is left goes out again, oldest
first, one batch a partition at a time. A broker knows a batch that it has already by
the producer's id and its sequence.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from odradek.protocol.errors import (
    DuplicateSequenceNumber,
    KafkaError,
    MessageTooLarge,
    NetworkException,
    RecordListTooLarge,
)

from .batch_builder import split
from .produce_link import ProduceLink, Refused, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from odradek.protocol.topic_partition import TopicPartition

    from .batch_builder import SealedBatch
    from .cluster import Cluster
    from .produce_link import ProduceTerms

_TOO_LARGE = (MessageTooLarge, RecordListTooLarge)


class DeliveryFailed(Exception):
    """Records that were not written, or nobody can say: why, where, and how many.

    ``lost`` counts the records by partition, those behind the first failure as well.
    """

    def __init__(
        self,
        place: TopicPartition,
        error: KafkaError,
        lost: Mapping[TopicPartition, int],
    ) -> None:
        count = sum(lost.values())
        records = "1 record" if count == 1 else f"{count} records"
        super().__init__(f"{place}: {error} ({records} not written)")
        self.place = place
        self.error = error
        self.lost = lost


class _Unsettled(Exception):
    """Batches that were refused, and may be taken later."""


class Routes(Protocol):
    """What a delivery asks its producer: leaders, and what is to be announced."""

    def leader_of(self, place: TopicPartition) -> int:
        """The node id of the leader; raises KafkaError."""

    def forget(self, topic: str) -> None:
        """The leaders of a topic may be others by now."""

    def announce(self, batches: Sequence[SealedBatch]) -> None:
        """Let partitions take part in a transaction; raises KafkaError."""


class Delivery:
    """Sends batches ahead, collects the answers, and sends again what it must."""

    def __init__(  # noqa: PLR0913 - its options, by their names
        self,
        cluster: Cluster,
        terms: ProduceTerms,
        routes: Routes,
        *,
        in_flight_max: int,
        request_size_max: int,
        timeout_s: float,
        compression_level: int | None = None,
        on_written: Callable[[Written], None] | None = None,
    ) -> None:
        """``timeout_s`` limits how long a failure is put up with."""
        self._cluster = cluster
        self._terms = terms
        self._routes = routes
        self._in_flight_max = in_flight_max
        self._request_size_max = request_size_max
        self._timeout_s = timeout_s
        self._compression_level = compression_level
        self._on_written = on_written
        self._links: dict[int, ProduceLink] = {}
        self._unanswered: dict[TopicPartition, deque[SealedBatch]] = {}
        self._failures: dict[TopicPartition, KafkaError] = {}

    def close(self) -> None:
        """Close the connections; what has no answer stays unknown."""
        links, self._links = self._links, {}
        for link in links.values():
            link.close()
        self._unanswered.clear()
        self._failures.clear()

    def submit(self, batches: Sequence[SealedBatch]) -> None:
        """Send batches of different partitions with one leader, behind earlier ones.

        Waits for answers while too many requests are in flight.

        Raises:
            DeliveryFailed: these or earlier ones.
        """
        for batch in batches:
            self._unanswered.setdefault(batch.place, deque()).append(batch)
        self._send(batches)
        if self._failures:
            self.settle()

    def settle(self) -> None:
        """Return when everything is written.

        Raises:
            DeliveryFailed: something is not; everything without an answer is dropped.
        """
        self._drain()
        if not self._unanswered:
            return
        try:
            self._cluster.retry.run(
                self._send_rest,
                lambda error: isinstance(error, _Unsettled),
                self._timeout_s,
            )
        except _Unsettled:
            raise self._given_up(*next(iter(self._failures.items()))) from None

    # The usual way.

    def _send(self, batches: Sequence[SealedBatch]) -> None:
        """One request; what fails is kept."""
        try:
            leader = self._routes.leader_of(batches[0].place)
            self._make_room(leader)
            if self._failures:  # nothing may overtake what has failed
                return
            self._routes.announce(batches)
        except (KafkaError, OSError) as error:
            self._fail_all(batches, _kafka_error(error))
            return
        try:
            if leader not in self._links:
                connection = self._cluster.open_connection(leader)
                self._links[leader] = ProduceLink(connection, self._terms)
            self._note(self._links[leader].send(batches))
        except OSError as error:
            self._fail_all(batches, self._lose(leader, error))

    def _make_room(self, leader: int) -> None:
        while leader in self._links:
            if self._links[leader].in_flight < self._in_flight_max:
                return
            self._collect(leader)

    def _drain(self) -> None:
        for leader in list(self._links):
            while leader in self._links and self._links[leader].in_flight:
                self._collect(leader)

    def _collect(self, leader: int) -> None:
        """Take the oldest answer of a leader; what failed is kept."""
        try:
            self._note(self._links[leader].receive())
        except OSError as error:
            self._lose(leader, error)

    def _note(self, outcomes: Iterable[Written | Refused]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Written):
                self._done(outcome)
            elif isinstance(outcome.error, DuplicateSequenceNumber):
                self._done(Written(outcome.batch))
            else:
                self._fail(*outcome)

    def _done(self, written: Written) -> None:
        place = written.batch.place
        self._unanswered[place].remove(written.batch)
        if not self._unanswered[place]:
            del self._unanswered[place]
        if self._on_written is not None:
            self._on_written(written)

    def _lose(self, leader: int, error: OSError) -> KafkaError:
        """Give the link up; the error that its batches have."""
        lost = _kafka_error(error)
        link = self._links.pop(leader, None)
        if link is not None:
            for refused in link.give_up(str(lost)):
                self._fail(*refused)
        return lost

    def _fail(self, batch: SealedBatch, error: KafkaError) -> None:
        # Of a partition the first failure counts: the others follow from it.
        self._failures.setdefault(batch.place, error)

    def _fail_all(self, batches: Sequence[SealedBatch], error: KafkaError) -> None:
        for batch in batches:
            self._fail(batch, error)

    # After a failure.

    def _send_rest(self) -> None:
        """Write what is left while it can be written, oldest first."""
        while self._unanswered:
            failures, self._failures = self._failures, {}
            for place, error in failures.items():
                self._judge(place, error)
            for batches in self._oldest_by_leader():
                self._send(batches)
            self._drain()
            # To halve what is too large, there is nothing to wait for.
            if not all(self._is_divisible(*each) for each in self._failures.items()):
                raise _Unsettled

    def _judge(self, place: TopicPartition, error: KafkaError) -> None:
        """Prepare the next try for a partition, if there is any sense in one."""
        batches = self._unanswered[place]
        if self._is_divisible(place, error):
            halves = split(batches.popleft(), self._compression_level)
            batches.extendleft(reversed(halves))
        elif error.retriable:
            self._routes.forget(place.topic)
        else:
            raise self._given_up(place, error)

    def _is_divisible(self, place: TopicPartition, error: KafkaError) -> bool:
        """Whether halves of the batch that failed first may be taken."""
        first = self._unanswered[place][0]
        return isinstance(error, _TOO_LARGE) and first.records_count > 1

    def _oldest_by_leader(self) -> list[list[SealedBatch]]:
        requests: list[list[SealedBatch]] = []
        current: dict[int, tuple[list[SealedBatch], int]] = {}
        for batches in self._unanswered.values():
            batch = batches[0]
            try:
                leader = self._routes.leader_of(batch.place)
            except (KafkaError, OSError) as error:
                self._fail(batch, _kafka_error(error))
                continue
            request, size = current.get(leader, ([], 0))
            if not request or size + len(batch.data) > self._request_size_max:
                request, size = [], 0
                requests.append(request)
            request.append(batch)
            current[leader] = request, size + len(batch.data)
        return requests

    def _given_up(self, place: TopicPartition, error: KafkaError) -> DeliveryFailed:
        lost = {
            each: sum(batch.records_count for batch in batches)
            for each, batches in self._unanswered.items()
        }
        self.close()
        return DeliveryFailed(place, error, lost)


def _kafka_error(error: KafkaError | OSError) -> KafkaError:
    """The error that a batch has; without a connection it may pass."""
    if isinstance(error, KafkaError):
        return error
    return NetworkException(error.strerror or str(error) or type(error).__name__)
