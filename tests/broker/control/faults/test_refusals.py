"""Requests that are split, answers that are marked and put together."""

from pathlib import Path
from typing import Any

from odradek.broker.control.faults.codes import KEY, PARTITION, TOPIC, WHOLE
from odradek.broker.control.faults.match import Match
from odradek.broker.control.faults.refusals import Refusal, merge
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.protocol.messages.transactions import EndTxnResponse
from tests.fakes.replicas import replicas

CODE = ErrorCode.NOT_COORDINATOR


def refusal(place: str, services: Any = None, **match: Any) -> Refusal:
    return Refusal(Match(**match), place, CODE, services)


def committed(*groups: str) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group_id=group,
                topics=[
                    OffsetFetchResponseTopics(
                        name=topic,
                        partitions=[
                            OffsetFetchResponsePartitions(
                                partition_index=number, committed_offset=5
                            )
                            for number in (0, 1)
                        ],
                    )
                    for topic in ("t", "u")
                ],
            )
            for group in groups
        ]
    )


def test_names_alone_can_be_split() -> None:
    request = DeleteTopicsRequest(topic_names=["a", "b"])
    meant, rest = refusal(TOPIC, topic="b").without_meant(request)
    assert (meant.topic_names, rest.topic_names) == (["b"], ["a"])
    assert request.topic_names == ["a", "b"]
    everything, nothing = refusal(TOPIC).without_meant(request)
    assert (everything, nothing) == (request, None)
    nothing, everything = refusal(TOPIC, topic="c").without_meant(request)
    assert (nothing, everything.topic_names) == (None, ["a", "b"])


def test_an_error_stands_at_the_partition_that_is_meant() -> None:
    marked = refusal(PARTITION, topic="t", partition=1).mark(committed("g"))
    t, u = marked.groups[0].topics
    assert [each.error_code for each in t.partitions] == [0, CODE]
    assert [each.committed_offset for each in t.partitions] == [5, -1]
    assert [each.error_code for each in u.partitions] == [0, 0]


def test_an_error_stands_at_the_group_that_is_meant() -> None:
    marked = refusal(KEY, group="h").mark(committed("g", "h"))
    assert [each.error_code for each in marked.groups] == [0, CODE]
    assert [len(each.topics) for each in marked.groups] == [2, 0]


def test_an_error_stands_on_top() -> None:
    assert refusal(WHOLE).mark(EndTxnResponse()).error_code == CODE


async def test_an_error_stands_at_the_topic_that_is_meant(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        services: Any = broker.services
        partition = MetadataResponsePartition(partition_index=0, leader_id=1)
        answer = MetadataResponse(
            topics=[
                MetadataResponseTopic(name=name, partitions=[partition])
                for name in ("t", "u")
            ]
        )
        marked = refusal(TOPIC, services, topic="t").mark(answer)
        assert [each.error_code for each in marked.topics] == [CODE, 0]
        assert [len(each.partitions) for each in marked.topics] == [0, 1]
        marked = refusal(PARTITION, services, topic="u").mark(answer)
        [of_u] = marked.topics[1].partitions
        assert (of_u.error_code, of_u.leader_id) == (CODE, -1)


def test_parts_of_the_same_topic_are_put_together() -> None:
    def answer(topic: str, number: int) -> MetadataResponse:
        partition = MetadataResponsePartition(partition_index=number)
        made = MetadataResponseTopic(name=topic, partitions=[partition])
        return MetadataResponse(topics=[made])

    merged = merge(merge(answer("t", 0), answer("t", 1)), answer("u", 0))
    found = {
        topic.name: [each.partition_index for each in topic.partitions]
        for topic in merged.topics
    }
    assert found == {"t": [0, 1], "u": [0]}
