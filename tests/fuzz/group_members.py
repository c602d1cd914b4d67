"""Members of all new kinds of groups that keep to the protocol, without a socket.

Each knows its epochs and what it was given, so that its next request is one that the
broker takes: the best of which to make hostile ones. Put out of its group, or out of
its session, it begins again.
"""

from abc import ABC, abstractmethod
from typing import Any

from odradek.protocol.compiler import decoder
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
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
)
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsTaskIds,
)
from odradek.protocol.schema import Request, Response
from odradek.protocol.uuids import ZERO_UUID
from tests.streams_member import word_count

_HEAD_SIZE = 9  # of an answer: length, correlation id, no tags
_RELEASE, _ACCEPT = 2, 1


class Member(ABC):
    """One member of one group, which uses one topic."""

    def __init__(self, group: str, member_id: str, topic: str) -> None:
        self.group, self.member_id, self.topic = group, member_id, topic
        self.epoch = 0
        self.turn = 0
        self.frame = b""
        self._asked: type[Response] = Response
        self._version = 0
        self.ask()

    def ask(self) -> None:
        """Make ``frame`` the next request, its length in front."""
        request, self._asked = self.next_request()
        self._version = request.max_version
        self.turn += 1
        self.frame = bytes(encode_request(request, self._version, self.turn, "fuzz"))

    def hear(self, answer: bytes) -> int:
        """Go on from the answer to ``frame``; returns its error, if it has one."""
        heard: Any
        heard, _ = decoder(self._asked, self._version)(memoryview(answer), _HEAD_SIZE)
        if heard.error_code:
            self.refused(heard)
        else:
            self.told(heard)
        error: int = heard.error_code
        self.ask()
        return error

    def refused(self, answer: Any) -> None:
        """Join again with the next request."""
        self.epoch = 0

    @abstractmethod
    def next_request(self) -> tuple[Request, type[Response]]:
        """What comes next, and what is answered to that."""

    @abstractmethod
    def told(self, answer: Any) -> None:
        """All went well."""


class ConsumerMember(Member):
    """Of a consumer group (KIP-848); the second of it subscribes by a pattern."""

    owned: list[HeartbeatTopicPartitions] = []  # noqa: RUF012 - never changed in place

    def next_request(self) -> tuple[Request, type[Response]]:
        """A heartbeat, every other one with all that there is to say."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=None,
        )
        if self.turn % 2 == 0 or not self.epoch:
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = [self.topic]
            request.server_assignor = "uniform"
            if self.member_id.endswith("2"):
                request.subscribed_topic_names = None
                request.subscribed_topic_regex = f"{self.topic}.*"
            request.topic_partitions = self.owned if self.epoch else []
        return request, ConsumerGroupHeartbeatResponse

    def told(self, answer: Any) -> None:
        """Own what is given."""
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = answer.assignment.topic_partitions


class StreamsMember(Member):
    """Of a streams group (KIP-1071)."""

    active: list[StreamsTaskIds] = []  # noqa: RUF012 - never changed in place
    standby: list[StreamsTaskIds] = []  # noqa: RUF012

    def next_request(self) -> tuple[Request, type[Response]]:
        """A heartbeat, the first of all with the topology."""
        request = StreamsGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch
        )
        if not self.epoch:
            self.active = self.standby = []
            request.rebalance_timeout_ms = 60_000
            request.topology = word_count(self.group, self.topic)
            request.process_id = f"process-{self.member_id}"
        if not self.epoch or self.turn % 2:
            request.active_tasks, request.standby_tasks = self.active, self.standby
            request.warmup_tasks = []
        return request, StreamsGroupHeartbeatResponse

    def told(self, answer: Any) -> None:
        """Have the tasks that are given."""
        self.epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.active = answer.active_tasks
        if answer.standby_tasks is not None:
            self.standby = answer.standby_tasks


class ShareMember(Member):
    """Of a share group (KIP-932): beats, fetches, and says what became of it."""

    def __init__(self, group: str, member_id: str, topic: str, topic_id: bytes) -> None:
        self.topic_id = topic_id or ZERO_UUID
        self.session_epoch = 0
        self.held: list[tuple[int, int, int]] = []
        super().__init__(group, member_id, topic)

    def next_request(self) -> tuple[Request, type[Response]]:
        """One of the three in turn, but first it joins."""
        if not self.epoch or self.turn % 3 == 0:
            return self._beat(), ShareGroupHeartbeatResponse
        if self.turn % 3 == 1 or not self.session_epoch:
            return self._fetch(), ShareFetchResponse
        return self._acknowledge(), ShareAcknowledgeResponse

    def _beat(self) -> Request:
        return ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            subscribed_topic_names=[self.topic],
        )

    def _fetch(self) -> Request:
        partitions = [ShareFetchPartition(partition_index=each) for each in range(2)]
        topic = ShareFetchTopic(topic_id=self.topic_id, partitions=partitions)
        return ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch,
            max_wait_ms=0,
            max_records=20,
            batch_size=20,
            topics=[topic],
        )

    def _acknowledge(self) -> Request:
        partitions = [
            ShareAcknowledgePartition(
                partition_index=number,
                acknowledgement_batches=[
                    AcknowledgementBatch(
                        first_offset=first,
                        last_offset=last,
                        acknowledge_types=[_RELEASE if first % 3 else _ACCEPT],
                    )
                ],
            )
            for number, first, last in self.held[:4]
        ]
        del self.held[:4]
        topic = ShareAcknowledgeTopic(topic_id=self.topic_id, partitions=partitions)
        return ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch,
            topics=[topic] if partitions else [],
        )

    def refused(self, answer: Any) -> None:
        """Begin the session again; out of the group, join again."""
        self.session_epoch = 0
        self.held = []
        if isinstance(answer, ShareGroupHeartbeatResponse):
            self.epoch = 0

    def told(self, answer: Any) -> None:
        """Be in the next epoch, of the group or of the session."""
        if isinstance(answer, ShareGroupHeartbeatResponse):
            self.epoch = answer.member_epoch
            return
        self.session_epoch += 1
        if isinstance(answer, ShareFetchResponse):
            self.held += [
                (each.partition_index, batch.first_offset, batch.last_offset)
                for topic in answer.responses
                for each in topic.partitions
                for batch in each.acquired_records
            ]
