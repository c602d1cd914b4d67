from pathlib import Path

import pytest

from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.produce import handle_produce
from odradek.broker.handlers.records.usual_produce import ProduceHead
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import ProduceResponse
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.records import test_fetch as fetches
from tests.broker.handlers.records import test_produce as produces
from tests.fakes.answers import fetched
from tests.fakes.cluster import led_by
from tests.fakes.placed import EPOCH, LEADER, PlacedElsewhere
from tests.fakes.replicas import batch_of, replicas


@pytest.mark.parametrize(("version", "leader"), [(9, -1), (10, LEADER), (13, LEADER)])
async def test_a_producer_is_told_who_leads_instead(
    tmp_path: Path, version: int, leader: int
) -> None:
    """KIP-951: the client goes there at once."""
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        broker.services.cluster = PlacedElsewhere()  # type: ignore[assignment]
        partition = broker.manager.partition(TopicPartition("t", 0))
        partition.make_follower(led_by(LEADER, leader_epoch=EPOCH))
        asked = produces.request(("t", 0, batch_of(b"v")), ("gone", 0, batch_of(b"v")))
        asked.topic_data[0].topic_id = partition.topic_id
        answer = produces.decoded(
            handle_produce(broker.context(version), asked), version
        )
        data = memoryview(answer.encode(version))
        told = ProduceResponse.decode(bytes(data), version)
        found, gone = [each.partition_responses[0] for each in told.responses]
        assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert found.current_leader.leader_id == leader
        assert gone.current_leader.leader_id == -1
        assert [(x.node_id, x.host) for x in told.node_endpoints] == (
            [(LEADER, "other")] if leader == LEADER else []
        )


async def test_the_short_way_leaves_that_to_the_long_one(tmp_path: Path) -> None:
    """Nothing is done, and nothing counted, before the long way is asked."""
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        partition = broker.manager.partition(TopicPartition("t", 0))
        asked = produces.request(("t", 0, batch_of(b"v")))
        head = ProduceHead(9, "client", asked, "t")
        appends = broker.manager.appends
        assert appends.append_one(head, memoryview(bytearray(batch_of(b"v"))), 7)
        partition.make_follower(led_by(LEADER, leader_epoch=EPOCH))
        batch = memoryview(bytearray(batch_of(b"v")))
        assert appends.append_one(head, batch, 8) is None
        assert partition.refused is None


@pytest.mark.parametrize(("version", "leader"), [(15, -1), (16, LEADER)])
@pytest.mark.parametrize("current_epoch", [-1, EPOCH - 1])
async def test_a_reader_is_told_who_leads_instead(
    tmp_path: Path, version: int, leader: int, current_epoch: int
) -> None:
    """KIP-951: to who asks the wrong one, and to who is behind."""
    async with replicas(tmp_path) as broker:
        await fetches.filled(broker)
        broker.services.cluster = PlacedElsewhere()  # type: ignore[assignment]
        partition = broker.manager.partition(TopicPartition("t", 0))
        partition.make_follower(led_by(LEADER, leader_epoch=EPOCH))
        partition.leadership.is_elsewhere = current_epoch < 0
        asked = fetches.request(("t", fetches.at(current_leader_epoch=current_epoch)))
        asked.topics[0].topic_id = partition.topic_id
        told = fetched(handle_fetch(broker.context(version), asked), version)
        (data,) = told.responses[0].partitions
        assert data.error_code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.FENCED_LEADER_EPOCH,
        )
        assert data.current_leader.leader_id == leader
        assert [(x.node_id, x.host) for x in told.node_endpoints] == (
            [(LEADER, "other")] if leader == LEADER else []
        )
