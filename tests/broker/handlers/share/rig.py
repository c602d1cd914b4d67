"""Share fetches and acknowledgements, as clients send them."""

from typing import Any

from odradek.broker.handlers.share.share_acknowledge import handle_share_acknowledge
from odradek.broker.handlers.share.share_fetch import handle_share_fetch
from odradek.broker.runtime.parked import Parked
from odradek.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    ShareAcknowledgePartition,
    ShareAcknowledgePartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopic,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareFetchTopic,
    ShareForgottenTopic,
    SharePartitionData,
)
from tests.broker.share.rig import ShareRig, settle

Said = dict[int, list[tuple[int, int, list[int]]]]


def batches(said: list[tuple[int, int, list[int]]]) -> list[AcknowledgementBatch]:
    return [
        AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=kinds
        )
        for first, last, kinds in said
    ]


async def begin(rig: ShareRig, partitions: int = 1, batches: int = 1) -> None:
    """A topic with records, and a group that begins with them."""
    await rig.create_topic(partitions)
    for partition in range(partitions):
        rig.states.begin(rig.key(partition), 0)
        if batches:
            await rig.fill(batches, partition=partition)


def ask(
    rig: ShareRig,
    epoch: int,
    said: Said | None = None,
    version: int = 2,
    **fields: Any,
) -> Any:
    """The answer to a fetch, perhaps parked; ``said`` names partitions, too."""
    topic_id = fields.pop("topic_id", None) or rig.key().topic_id
    forgotten = fields.pop("forgotten", [])
    defaults = {
        "group_id": "g",
        "member_id": "m",
        "max_wait_ms": 100,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "max_records": 500,
        "batch_size": 500,
    }
    partitions = [
        ShareFetchPartition(
            partition_index=partition, acknowledgement_batches=batches(each)
        )
        for partition, each in (said or {}).items()
    ]
    request = ShareFetchRequest(
        share_session_epoch=epoch,
        topics=[ShareFetchTopic(topic_id=topic_id, partitions=partitions)],
        forgotten_topics_data=[
            ShareForgottenTopic(topic_id=topic_id, partitions=forgotten)
        ],
        **{**defaults, **fields},
    )
    return handle_share_fetch(rig.broker.context(version), request)


async def answer_of(rig: ShareRig, answer: Any) -> Any:
    """What an answer is when its time is over."""
    await settle()
    if isinstance(answer, Parked):
        if not answer.done():
            rig.clock.advance(200)
            await settle()
        return answer.result()
    return answer


async def fetch(rig: ShareRig, epoch: int, *more: Any, **fields: Any) -> Any:
    """The response to a fetch."""
    response = await answer_of(rig, ask(rig, epoch, *more, **fields))
    assert isinstance(response, ShareFetchResponse)
    return response


def data_of(response: Any) -> list[SharePartitionData]:
    return [each for topic in response.responses for each in topic.partitions]


def acquired(response: Any) -> list[tuple[int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for data in data_of(response)
        for each in data.acquired_records
    ]


def say(rig: ShareRig, epoch: int, said: Said, version: int = 2, **fields: Any) -> Any:
    """The answer to acknowledgements, perhaps parked."""
    topic_id = fields.pop("topic_id", None) or rig.key().topic_id
    partitions = [
        ShareAcknowledgePartition(
            partition_index=partition, acknowledgement_batches=batches(each)
        )
        for partition, each in said.items()
    ]
    request = ShareAcknowledgeRequest(
        share_session_epoch=epoch,
        topics=[ShareAcknowledgeTopic(topic_id=topic_id, partitions=partitions)],
        **{"group_id": "g", "member_id": "m", **fields},
    )
    return handle_share_acknowledge(rig.broker.context(version), request)


async def acknowledge(
    rig: ShareRig, epoch: int, said: Said, **fields: Any
) -> list[ShareAcknowledgePartitionData]:
    """What is answered of each partition."""
    response = await answer_of(rig, say(rig, epoch, said, **fields))
    assert isinstance(response, ShareAcknowledgeResponse)
    assert response.error_code == 0
    assert response.acquisition_lock_timeout_ms == 30_000
    return [each for topic in response.responses for each in topic.partitions]
