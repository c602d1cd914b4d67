"""Fetch: read partitions from given offsets on, waiting for ``min_bytes``.

There are no fetch sessions: a request for a new one is answered in full with
session id 0, as Apache Kafka does when its cache is full, and clients go on with
full requests (KIP-227).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.errors import ErrorCode, FetchSessionIdNotFound
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.topic_partition import TopicPartition
from protocol.uuids import to_text
from storage.log_read import FetchIsolation

from ..replica.fetch_reader import FetchParams, FetchResult, PartitionFetch
from .registry import handles

if TYPE_CHECKING:
    from protocol.messages.fetch import FetchPartition

    from ..network.request_context import RequestContext

FIRST_VERSION_OF_ANY_REPLICA = 11
FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_REPLICA_STATE = 15
FULL_FETCH_EPOCHS = (0, -1)
CONSUMER = -1

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__

ISOLATIONS = {0: FetchIsolation.HIGH_WATERMARK, 1: FetchIsolation.TXN_COMMITTED}


@handles(FetchRequest, versions=(4, 18))
def handle_fetch(ctx: RequestContext, request: FetchRequest) -> Any:
    """Answer with records, at once or when there are enough of them.

    Raises:
        FetchSessionIdNotFound: the request goes on with a session.
    """
    if request.session_epoch not in FULL_FETCH_EPOCHS:
        raise FetchSessionIdNotFound
    fetch = Fetch(ctx, request)
    replica_manager = ctx.services.replica_manager
    unopened = replica_manager.unopened(fetch.wanted)
    if unopened:
        return fetch.read_when_open(unopened)
    return fetch.read()


class Fetch:
    """One request, from what it wants to its answer. No partition twice."""

    __slots__ = ("_ctx", "_params", "_topic_ids", "wanted")

    def __init__(self, ctx: RequestContext, request: FetchRequest) -> None:
        self.wanted: dict[TopicPartition, PartitionFetch] = {}
        self._ctx = ctx
        self._topic_ids: dict[str, bytes] = {}
        isolation = ISOLATIONS.get(request.isolation_level)
        max_bytes = max(0, min(request.max_bytes, ctx.services.config.fetch_max_bytes))
        self._params = _new(
            FetchParams,
            (
                isolation or FetchIsolation.HIGH_WATERMARK,
                request.max_wait_ms,
                min(request.min_bytes, max_bytes),
                max_bytes,
                ctx.api_version < FIRST_VERSION_OF_ANY_REPLICA,
            ),
        )
        replica_id = request.replica_id
        if ctx.api_version >= FIRST_VERSION_WITH_REPLICA_STATE:
            replica_id = request.replica_state.replica_id
        by_id = ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
        for topic in request.topics:
            name: str | None = topic.topic
            if by_id:
                known = ctx.services.metadata.by_id(topic.topic_id)
                name = None if known is None else known.name
            key = to_text(topic.topic_id) if name is None else name
            self._topic_ids[key] = topic.topic_id
            for each in topic.partitions:
                if name is None:
                    refusal = ErrorCode.UNKNOWN_TOPIC_ID
                elif isolation is None or each.partition_max_bytes < 0:
                    refusal = ErrorCode.INVALID_REQUEST
                elif replica_id > CONSUMER:
                    refusal = _refusal_of_replica(each)
                else:
                    refusal = ErrorCode.NONE
                topic_partition = _new(TopicPartition, (key, each.partition))
                self.wanted[topic_partition] = _new(
                    PartitionFetch,
                    (
                        topic_partition,
                        each.fetch_offset,
                        each.partition_max_bytes,
                        each.current_leader_epoch,
                        each.last_fetched_epoch,
                        refusal,
                    ),
                )

    def read(self) -> Any:
        """The answer, a future of it, or a coroutine that gets it from the disk."""
        return self._ctx.services.replica_manager.fetch_records(
            self._params, list(self.wanted.values()), self.respond
        )

    async def read_when_open(self, unopened: list[TopicPartition]) -> Any:
        """The answer, once the logs that were never used before are open."""
        await self._ctx.services.replica_manager.open(unopened)
        answer = self.read()
        return await answer if hasattr(answer, "__await__") else answer

    def respond(self, results: list[FetchResult]) -> FetchResponse:
        """The response with what was read of each partition."""
        topics: dict[str, list[PartitionData]] = {name: [] for name in self._topic_ids}
        for (name, partition), result in zip(self.wanted, results, strict=True):
            topics[name].append(_partition_data(partition, result))
        return FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic=name, topic_id=self._topic_ids[name], partitions=partitions
                )
                for name, partitions in topics.items()
            ]
        )


def _refusal_of_replica(wanted: FetchPartition) -> ErrorCode:
    """No other broker holds copies of our partitions (``spec`` B4.5)."""
    if wanted.current_leader_epoch >= 0:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NOT_LEADER_OR_FOLLOWER


def _partition_data(partition: int, result: FetchResult) -> PartitionData:
    data = PartitionData(
        partition_index=partition,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None,
        records=result.records,
    )
    if result.aborted is not None:
        data.aborted_transactions = [
            AbortedTransaction(
                producer_id=each.producer_id, first_offset=each.first_offset
            )
            for each in result.aborted
        ]
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return data
