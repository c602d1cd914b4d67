"""ListOffsets: the first offset at or after a moment, for each partition.

Negative timestamps are questions of their own: the log's end (-1) and start (-2),
the record with the largest timestamp (-3, KIP-734), the start of what is on local
disk (-4, KIP-405), the end of what was moved to tiered storage (-5, KIP-1005) and
the start of what was not (-6, KIP-1023). Nothing is tiered here.

What is written and not visible yet, because it is not durable, will be in a moment: the
answer of where readers see the log end waits for it (`visible_end`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRequest,
    KafkaError,
    LeaderNotAvailable,
    OffsetNotAvailable,
    UnsupportedVersion,
    error_class,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import ColdBytes, ColdRead
from odradek.storage.local.offset_lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    MAX_TIMESTAMP,
)
from odradek.storage.values.log_read import FetchIsolation

from .fetch import CONSUMER, ISOLATIONS

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.waiting.visible_end import Hidden, Seen
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer

DEBUGGING_CONSUMER = -2
FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

FIRST_VERSIONS = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

# What is asked with these is there, whatever readers see of the rest.
_NOT_ENDS = frozenset(
    {EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD}
)


@handles(
    ListOffsetsRequest,
    versions=(1, 11),
    needs=needs.inside(needs.topic(Operation.DESCRIBE)),
)
def handle_list_offsets(ctx: RequestContext, request: ListOffsetsRequest) -> Answer:
    """Look every partition up; a coroutine when a log must be opened or read first.

    Or synced, when there is something in it that its reader cannot see yet.
    """
    listing = Listing(ctx, request)
    replica_manager = ctx.services.replica_manager
    if replica_manager.unopened(listing.wanted) or listing.find_hidden():
        return listing.find_all_when_ready()
    try:
        listing.find_all()
    except ColdRead as cold:
        return listing.find_all_from_disk(cold.bytes)
    return listing.response()


class Listing:
    """One request; a partition that it names twice is answered once, with an error."""

    __slots__ = (
        "_ctx",
        "_duplicates",
        "_found",
        "_isolation",
        "_request",
        "_seen",
        "wanted",
    )

    def __init__(self, ctx: RequestContext, request: ListOffsetsRequest) -> None:
        self.wanted: dict[TopicPartition, ListOffsetsPartition] = {}
        self._ctx = ctx
        self._request = request
        self._duplicates: set[TopicPartition] = set()
        self._found: list[ListOffsetsPartitionResponse] = []
        self._seen: dict[TopicPartition, Seen] = {}
        self._isolation = ISOLATIONS.get(request.isolation_level)
        if request.replica_id != CONSUMER and self._isolation is not None:
            self._isolation = FetchIsolation.LOG_END
        for topic in request.topics:
            for each in topic.partitions:
                topic_partition = TopicPartition(topic.name, each.partition_index)
                if topic_partition in self.wanted:
                    self._duplicates.add(topic_partition)
                self.wanted[topic_partition] = each

    def find_all(self, may_block: bool = False) -> None:
        """Look on where the last call stopped.

        Raises:
            ColdRead: the bytes are not in memory; call again with ``may_block``.
        """
        for topic_partition in list(self.wanted)[len(self._found) :]:
            self._found.append(self._answer(topic_partition, may_block))
            may_block = False

    async def find_all_from_disk(self, cold: ColdBytes) -> ListOffsetsResponse:
        """The response, after the disk threads have read what is not in memory."""
        while True:
            await self._ctx.services.disk_threads.run(cold.warm)
            try:
                self.find_all(may_block=True)
                return self.response()
            except ColdRead as next_cold:
                cold = next_cold.bytes

    def find_hidden(self) -> Hidden:
        """What of the partitions is to be visible before it can be said where it ends.

        Nothing where the question is another one, as mostly.
        """
        if self._isolation is None or self._isolation is FetchIsolation.LOG_END:
            return {}
        return self._ctx.services.replica_manager.visible_ends.hidden(
            key for key, each in self.wanted.items() if each.timestamp not in _NOT_ENDS
        )

    async def find_all_when_ready(self) -> ListOffsetsResponse:
        """The response, once the logs are open and readers see what is in them."""
        replica_manager = self._ctx.services.replica_manager
        await replica_manager.open(self.wanted)
        if hidden := self.find_hidden():
            self._seen = await replica_manager.visible_ends.wait(hidden)
        try:
            self.find_all()
        except ColdRead as cold:
            return await self.find_all_from_disk(cold.bytes)
        return self.response()

    def response(self) -> ListOffsetsResponse:
        """What was found, by topic."""
        topics: dict[str, list[ListOffsetsPartitionResponse]] = {
            topic.name: [] for topic in self._request.topics
        }
        for topic_partition, found in zip(self.wanted, self._found, strict=True):
            topics[topic_partition.topic].append(found)
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ]
        )

    def _answer(
        self, topic_partition: TopicPartition, may_block: bool
    ) -> ListOffsetsPartitionResponse:
        answer = ListOffsetsPartitionResponse(partition_index=topic_partition.partition)
        try:
            self._ctx.require(
                Operation.DESCRIBE, ResourceType.TOPIC, topic_partition.topic
            )
            self._look_up(topic_partition, answer, may_block)
        except KafkaError as error:
            answer.error_code = error.code
        return answer

    def _look_up(
        self,
        topic_partition: TopicPartition,
        answer: ListOffsetsPartitionResponse,
        may_block: bool,
    ) -> None:
        wanted = self.wanted[topic_partition]
        timestamp = wanted.timestamp
        self._check(topic_partition, timestamp)
        if topic_partition in self._seen:
            self._check_seen(self._seen[topic_partition].error_code)
        partition = self._ctx.services.replica_manager.partition(topic_partition)
        if self._request.replica_id == DEBUGGING_CONSUMER:
            partition.leadership.check_replica(wanted.current_leader_epoch)
        else:
            partition.leadership.check(wanted.current_leader_epoch)
        if timestamp == LATEST:
            self._check_known(partition)
            answer.offset = self._end_of(partition)
            answer.leader_epoch = partition.leadership.epoch
            return
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return
        found = partition.view.find_offset(timestamp, may_block)
        if found is None:
            return
        if timestamp not in (EARLIEST, EARLIEST_LOCAL):
            # A record that the asker may not read yet is not there.
            if found.offset >= self._end_of(partition):
                self._check_known(partition)
                return
            answer.timestamp = found.timestamp
        answer.offset = found.offset
        answer.leader_epoch = found.leader_epoch

    def _check(self, topic_partition: TopicPartition, timestamp: int) -> None:
        if topic_partition in self._duplicates:
            raise InvalidRequest("the request names this partition twice")
        if self._isolation is None:
            raise InvalidRequest("there is no such isolation level")
        if timestamp < 0:
            first_version = FIRST_VERSIONS.get(timestamp)
            if first_version is None or self._ctx.api_version < first_version:
                raise UnsupportedVersion

    def _check_known(self, partition: Partition) -> None:
        """See that we know how far clients see: not so shortly after an election.

        Raises:
            OffsetNotAvailable, LeaderNotAvailable: the client is to ask again.
        """
        is_client = self._isolation is not FetchIsolation.LOG_END
        if is_client and partition.view.is_high_watermark_lagging:
            raise self._not_known()

    def _check_seen(self, error_code: int) -> None:
        """See that readers see what was hidden from them when this request came.

        Raises:
            OffsetNotAvailable, LeaderNotAvailable: the disk is slow, as above.
            KafkaError: the log has failed, or the partition is deleted.
        """
        if error_code == ErrorCode.REQUEST_TIMED_OUT:
            raise self._not_known()
        if error_code != ErrorCode.NONE:
            raise error_class(error_code)

    def _not_known(self) -> KafkaError:
        if self._ctx.api_version < FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE:
            return LeaderNotAvailable()
        return OffsetNotAvailable()

    def _end_of(self, partition: Partition) -> int:
        if self._isolation is FetchIsolation.HIGH_WATERMARK:
            return partition.view.high_watermark
        if self._isolation is FetchIsolation.TXN_COMMITTED:
            return partition.view.last_stable_offset
        return partition.view.log_end_offset


@answers_errors(ListOffsetsRequest)
def refuse_list_offsets(
    request: ListOffsetsRequest, error: KafkaError
) -> ListOffsetsResponse:
    """The same error for every partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=each.partition_index, error_code=error.code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
