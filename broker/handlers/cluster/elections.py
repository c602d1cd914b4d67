"""ElectLeaders 0-2: of one broker, which leads all that it has.

A partition has its leader already, or is offline: then there is nobody to elect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    ErrorCode,
    InvalidRequest,
    KafkaError,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

PREFERRED, UNCLEAN = 0, 1


@handles(
    ElectLeadersRequest,
    versions=(0, 2),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
def handle_elect_leaders(
    ctx: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    """Say of each partition why it gets no other leader; of all, only the topics.

    Raises:
        InvalidRequest: there is no such kind of election.
    """
    kind = request.election_type
    if kind not in (PREFERRED, UNCLEAN):
        raise InvalidRequest(f"There is no election type {kind}")
    topics = ctx.services.metadata
    if request.topic_partitions is None:
        results = [ReplicaElectionResult(topic=topic.name) for topic in topics]
        return ElectLeadersResponse(replica_election_results=results)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=each.topic,
                partition_result=[
                    _result(ctx, kind, TopicPartition(each.topic, number))
                    for number in each.partitions
                ],
            )
            for each in request.topic_partitions
        ]
    )


@answers_errors(ElectLeadersRequest)
def refuse_elect_leaders(
    request: ElectLeadersRequest, error: KafkaError
) -> ElectLeadersResponse:
    """The error, also at every partition: version 0 has no other place for it."""
    refused = [
        ReplicaElectionResult(
            topic=each.topic,
            partition_result=[_refused(number, error) for number in each.partitions],
        )
        for each in request.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=error.code, replica_election_results=refused)


def _result(
    ctx: RequestContext, kind: int, topic_partition: TopicPartition
) -> PartitionResult:
    topics, number = ctx.services.metadata, topic_partition.partition
    try:
        if topics.get(topic_partition.topic) is None:
            raise UnknownTopicOrPartition(f"No such topic as {topic_partition.topic}")
        if topics.partition(topic_partition) is None:
            raise UnknownTopicOrPartition(f"No such partition as {topic_partition}")
        if topic_partition in topics.offline:
            raise _nobody(kind)
    except KafkaError as error:
        return _refused(number, error)
    leads = ElectionNotNeeded("Leader election not needed for topic partition.")
    return _refused(number, leads)


def _nobody(kind: int) -> KafkaError:
    message = "The only replica is offline: its directory cannot be used"
    if kind == UNCLEAN:
        return EligibleLeadersNotAvailable(message)
    return PreferredLeaderNotAvailable(message)


def _refused(number: int, error: KafkaError) -> PartitionResult:
    return PartitionResult(
        partition_id=number,
        error_code=ErrorCode(error.code),
        error_message=str(error),
    )
