"""One broker's part in what a member of a share group reads (KIP-932).

What became of records is told with the next fetch. A session that the broker has
forgotten begins anew: what the member still had then comes again, to it or to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import (
    InvalidShareSessionEpoch,
    ShareSessionNotFound,
)
from odradek.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    ShareAcknowledgePartition,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopic,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareFetchTopic,
    ShareForgottenTopic,
)

from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.messages.share_fetch import SharePartitionData

    from .cluster import Cluster
    from .fetcher import FetchLimits

GAP, ACCEPT = 0, 1
_NEW, _FINAL = 0, -1
_EPOCH_MAX = (1 << 31) - 1

Place = tuple[bytes, int]  # topic id and partition


class Outcome(NamedTuple):
    """What became of offsets in a row: one type for all of them."""

    first: int
    last: int
    kind: int


class ShareSession:
    """A member's session with one broker."""

    def __init__(
        self, cluster: Cluster, node_id: int, group_id: str, member_id: str
    ) -> None:
        self.outcomes: dict[Place, list[Outcome]] = {}  # to be told
        self._cluster = cluster
        self._node_id = node_id
        self._group_id = group_id
        self._member_id = member_id
        self._epoch = _NEW
        self._known: set[Place] = set()

    def say(self, place: Place, outcome: Outcome) -> None:
        """Tell with the next fetch what became of these offsets, if there are any."""
        first, last, kind = outcome
        if first > last:
            return
        said = self.outcomes.setdefault(place, [])
        if said and said[-1].last + 1 == first and said[-1].kind == kind:
            said[-1] = said[-1]._replace(last=last)
        else:
            said.append(outcome)

    def fetch(
        self, wanted: Iterable[Place], limits: FetchLimits, records_max: int
    ) -> list[tuple[Place, SharePartitionData]]:
        """What the broker hands out of these partitions, or says of them.

        Raises:
            KafkaError: the broker refuses the whole request.
        """
        places = set(wanted)
        outcomes = self.outcomes if self._epoch != _NEW else {}
        request = ShareFetchRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            max_records=records_max,
            batch_size=records_max,
            topics=_topics(sorted((places - self._known) | outcomes.keys()), outcomes),
            forgotten_topics_data=_forgotten(sorted(self._known - places)),
        )
        response = self._cluster.request(request, ShareFetchResponse, self._node_id)
        try:
            raise_for(response.error_code, response.error_message)
        except (ShareSessionNotFound, InvalidShareSessionEpoch):
            self._begin_anew()
            return []
        self.outcomes, self._known = {}, places
        self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1
        return [
            ((topic.topic_id, each.partition_index), each)
            for topic in response.responses
            for each in topic.partitions
        ]

    def end(self) -> None:
        """Tell what is to be told, and give all the rest back."""
        if self._epoch == _NEW:
            return
        topics = [
            ShareAcknowledgeTopic(
                topic_id=topic_id,
                partitions=[
                    ShareAcknowledgePartition(
                        partition_index=partition,
                        acknowledgement_batches=_batches(said),
                    )
                ],
            )
            for (topic_id, partition), said in self.outcomes.items()
        ]
        request = ShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=_FINAL,
            topics=topics,
        )
        self._cluster.request(request, ShareAcknowledgeResponse, self._node_id)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._epoch, self.outcomes, self._known = _NEW, {}, set()


def _topics(
    places: Iterable[Place], outcomes: dict[Place, list[Outcome]]
) -> list[ShareFetchTopic]:
    by_topic: dict[bytes, list[ShareFetchPartition]] = {}
    for topic_id, partition in places:
        by_topic.setdefault(topic_id, []).append(
            ShareFetchPartition(
                partition_index=partition,
                acknowledgement_batches=_batches(
                    outcomes.get((topic_id, partition), ())
                ),
            )
        )
    return [
        ShareFetchTopic(topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in by_topic.items()
    ]


def _forgotten(places: Iterable[Place]) -> list[ShareForgottenTopic]:
    by_topic: dict[bytes, list[int]] = {}
    for topic_id, partition in places:
        by_topic.setdefault(topic_id, []).append(partition)
    return [
        ShareForgottenTopic(topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in by_topic.items()
    ]


def _batches(outcomes: Iterable[Outcome]) -> list[AcknowledgementBatch]:
    return [
        AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=[kind]
        )
        for first, last, kind in sorted(outcomes)
    ]
