"""What requests are about."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.subject import Subject, identity_of, name_of, parts_of
from odradek.broker.replica.partition.fetch_reader import PartitionFetch
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.group_admin import DeleteGroupsRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest, HeartbeatRequest
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.protocol.messages.txn_admin import DescribeTransactionsRequest
from tests.fakes.replicas import Replicas, replicas

OFFSETS = OffsetFetchRequestGroup(
    group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[1, 2])]
)
ADDED = AddPartitionsToTxnTopic(name="t", partitions=[3])


@pytest.mark.parametrize(
    ("request_", "topics", "groups", "ids"),
    [
        (HeartbeatRequest(group_id="g"), {}, {"g"}, set()),
        (FindCoordinatorRequest(key="g"), {}, {"g"}, set()),
        (
            FindCoordinatorRequest(key_type=1, coordinator_keys=["x", "y"]),
            {},
            set(),
            {"x", "y"},
        ),
        (OffsetFetchRequest(groups=[OFFSETS]), {"t": {1, 2}}, {"g"}, set()),
        (DeleteGroupsRequest(groups_names=["a", "b"]), {}, {"a", "b"}, set()),
        (DeleteTopicsRequest(topic_names=["t"]), {"t": set()}, set(), set()),
        (DescribeTransactionsRequest(transactional_ids=["x"]), {}, set(), {"x"}),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="x", v3_and_below_topics=[ADDED]
            ),
            {"t": {3}},
            set(),
            {"x"},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_topics_groups_and_ids_are_found(
    tmp_path: Path, request_: Any, topics: Any, groups: Any, ids: Any
) -> None:
    async with replicas(tmp_path) as broker:
        subject = subject_of(request_, broker)
        assert subject.topics == topics
        assert subject.groups == groups
        assert subject.transactional_ids == ids
        assert not subject.is_all


async def test_a_topic_may_be_called_by_its_id(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("t")
        topic = broker.topics.known("t")
        asked = MetadataRequestTopic(name=None, topic_id=topic.topic_id)
        assert name_of(asked, services_of(broker)) == "t"
        assert subject_of(MetadataRequest(topics=[asked]), broker).topics == {
            "t": set()
        }
        stranger = MetadataRequestTopic(name=None, topic_id=b"x" * 16)
        assert name_of(stranger, services_of(broker)) == ""
        assert parts_of(asked) == []
        assert identity_of(asked) != identity_of(stranger)


async def test_some_requests_are_about_all(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        everything = OffsetFetchRequestGroup(group_id="g", topics=None)
        assert subject_of(OffsetFetchRequest(groups=[everything]), broker).is_all
        assert subject_of(MetadataRequest(topics=None), broker).is_all


async def test_a_session_reads_what_it_was_asked_for_before(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        sessions: Any = services_of(broker).fetch_sessions
        sessions.wanted_of = lambda _: [PartitionFetch(Place(n), 0, 1) for n in (0, 1)]
        again = FetchRequest(session_id=5, session_epoch=2)
        assert subject_of(again, broker).topics == {"t": {0, 1}}
        partition = FetchPartition(partition=7)
        more = FetchTopic(topic="t", partitions=[partition])
        wider = FetchRequest(session_id=5, session_epoch=3, topics=[more])
        assert subject_of(wider, broker).topics == {"t": {0, 1, 7}}


class Place:
    topic = "t"

    def __init__(self, partition: int) -> None:
        self.partition = partition


def services_of(broker: Replicas) -> Any:
    return broker.services


def subject_of(request: Any, broker: Replicas) -> Subject:
    return Subject.of(request, services_of(broker))
