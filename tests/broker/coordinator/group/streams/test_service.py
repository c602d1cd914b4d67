from pathlib import Path
from typing import Any

from odradek.broker.coordinator.group.streams.asked import StreamsBeat
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest
from tests.broker.coordinator.group.streams.rig import mapping
from tests.fakes.group_client import group_client


async def settled(broker: Any, answer: Any) -> Any:
    while isinstance(answer, Parked) and not answer.done():
        await broker.clock.tick()
        await broker.commit()
    return answer.result() if isinstance(answer, Parked) else answer


async def test_from_the_first_heartbeat_to_the_description(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        broker = client.broker
        await broker.create_topic("t", 1)
        streams = broker.services.groups.streams
        await broker.services.groups.create_topic()
        request = StreamsGroupHeartbeatRequest(
            group_id="g", member_id="m", topology=mapping("t")
        )
        joined = await settled(broker, streams.beat(StreamsBeat(request, "c", "/h")))
        assert (joined.response.member_epoch, joined.missing) == (1, ())
        found = await settled(broker, streams.describe("g", str))
        assert [each.member_id for each in found.members] == ["m"]
        await streams.close()


async def test_a_group_has_a_name(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        streams = client.broker.services.groups.streams
        code = streams.describe("", KafkaError.as_value)
        assert isinstance(code, KafkaError)
        assert code.code == ErrorCode.INVALID_GROUP_ID
