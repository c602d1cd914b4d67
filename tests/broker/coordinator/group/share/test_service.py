from pathlib import Path
from typing import Any

from odradek.broker.coordinator.group.share.heartbeat import ShareBeat
from odradek.broker.coordinator.group.share.service import ShareGroupCoordinator
from odradek.broker.coordinator.group.state.share.states import NO_STATES
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest
from tests.fakes.group_client import group_client


async def settled(broker: Any, answer: Any) -> Any:
    while isinstance(answer, Parked) and not answer.done():
        await broker.clock.tick()
        await broker.commit()
    return answer.result() if isinstance(answer, Parked) else answer


async def test_from_the_first_heartbeat_to_the_last_place(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        broker = client.broker
        await broker.create_topic("t", 1)
        shares = broker.services.groups.shares
        await broker.services.groups.create_topic()
        topic_id = broker.services.metadata.get("t").topic_id
        request = ShareGroupHeartbeatRequest(
            group_id="g", member_id="m", subscribed_topic_names=["t"]
        )
        joined = await settled(broker, shares.beat(ShareBeat(request, "c", "/h"), str))
        assert joined.member_epoch == 3
        found = await settled(broker, shares.describe("g", str))
        assert [each.member_id for each in found.members] == ["m"]
        request = ShareGroupHeartbeatRequest(
            group_id="g", member_id="m", member_epoch=-1
        )
        await settled(broker, shares.beat(ShareBeat(request, "c", "/h"), str))
        moved = shares.move("g", {topic_id: "t"}, {(topic_id, 0): 4}, str)
        assert list((await settled(broker, moved)).values()) == [None]
        states = await settled(broker, shares.states("g", str))
        assert list(states.places()) == [(topic_id, 0)]
        forgotten = shares.forget("g", [topic_id], str)
        assert await settled(broker, forgotten) == {topic_id: None}
        assert await settled(broker, shares.states("g", str)) == NO_STATES


def test_a_group_has_a_name() -> None:
    shares = ShareGroupCoordinator(None)  # type: ignore[arg-type]
    refused = shares.states("", KafkaError.as_value)
    assert isinstance(refused, KafkaError)
    assert refused.code == ErrorCode.INVALID_GROUP_ID
