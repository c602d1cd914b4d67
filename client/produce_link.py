"""Produce requests on their way to one leader: sent ahead, answered in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import KafkaError, NetworkException
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

from .errors import error_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .batch_builder import SealedBatch
    from .connection import Connection

LAST_VERSION_WITH_NAMES = 12
# From the next version on a write lets its partition take part in a transaction.
LAST_VERSION_WITHOUT_ADDING = 11
_NO_OFFSET = -1


class Written(NamedTuple):
    """Where a batch went; -1 for what the broker did not say."""

    batch: SealedBatch
    base_offset: int = _NO_OFFSET
    log_append_time_ms: int = -1


class Refused(NamedTuple):
    """A batch that the broker did not take, or of which nothing is known."""

    batch: SealedBatch
    error: KafkaError


class ProduceTerms(NamedTuple):
    """What every request says besides its batches."""

    acks: int
    timeout_ms: int
    transactional_id: str | None
    version_max: int = LAST_VERSION_WITH_NAMES


class ProduceLink:
    """A connection of its own to one leader, with at most so many unanswered."""

    def __init__(self, connection: Connection, terms: ProduceTerms) -> None:
        self._connection = connection
        self._terms = terms
        self._version = connection.version_of(ProduceRequest(), terms.version_max)
        self._sent: deque[tuple[int, Sequence[SealedBatch]]] = deque()

    @property
    def in_flight(self) -> int:
        """How many requests wait for their answer."""
        return len(self._sent)

    def close(self) -> None:
        """Close the connection; what is in flight stays unknown."""
        self._connection.close()

    def send(self, batches: Sequence[SealedBatch]) -> list[Written]:
        """Send at most one batch for each partition; what is done with that already.

        Raises:
            OSError: the connection is lost.
        """
        topics: dict[str, list[PartitionProduceData]] = {}
        for batch in batches:
            data = PartitionProduceData(index=batch.place.partition, records=batch.data)
            topics.setdefault(batch.place.topic, []).append(data)
        request = ProduceRequest(
            transactional_id=self._terms.transactional_id,
            acks=self._terms.acks,
            timeout_ms=self._terms.timeout_ms,
            topic_data=[
                TopicProduceData(name=name, partition_data=data)
                for name, data in topics.items()
            ],
        )
        correlation_id = self._connection.send(request, self._version)
        if self._terms.acks == 0:
            return [Written(batch) for batch in batches]
        self._sent.append((correlation_id, batches))
        return []

    def receive(self) -> list[Written | Refused]:
        """What became of the batches of the oldest request.

        Raises:
            OSError: the connection is lost, or no answer came in time.
        """
        correlation_id, batches = self._sent[0]
        answered_id, answer = self._connection.receive(ApiKey.PRODUCE, self._version)
        if answered_id != correlation_id or not isinstance(answer, ProduceResponse):
            raise ConnectionError(f"answer {answered_id}, asked {correlation_id}")
        self._sent.popleft()
        found = {
            (topic.name, each.index): each
            for topic in answer.responses
            for each in topic.partition_responses
        }
        outcomes: list[Written | Refused] = []
        for batch in batches:
            each = found.get(batch.place)
            if each is None:
                silent = NetworkException("The broker did not answer for a batch.")
                outcomes.append(Refused(batch, silent))
            elif each.error_code:
                error = error_of(each.error_code, each.error_message)
                outcomes.append(Refused(batch, error))
            else:
                outcomes.append(
                    Written(batch, each.base_offset, each.log_append_time_ms)
                )
        return outcomes

    def give_up(self, reason: str) -> list[Refused]:
        """Close; nobody will say what became of these, in the order they were sent."""
        self.close()
        lost = [
            Refused(batch, NetworkException(reason))
            for _, batches in self._sent
            for batch in batches
        ]
        self._sent.clear()
        return lost
