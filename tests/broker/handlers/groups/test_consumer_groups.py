from pathlib import Path

import pytest

from odradek.broker.handlers.groups.consumer_groups import (
    handle_consumer_group_heartbeat,
)
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, UnsupportedVersion
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from tests.fakes.topics import TopicBroker, topic_broker


def heartbeat(broker: TopicBroker, client_id: str, peer_port: int) -> str:
    """What the client is told."""
    connection = ConnectionInfo(
        peer_port=peer_port,
        client_software_name="librdkafka",
        client_software_version="2.16.0",
    )
    key = ApiKey.CONSUMER_GROUP_HEARTBEAT
    ctx = RequestContext(broker.services, connection, key, 0, 1, client_id)
    request = ConsumerGroupHeartbeatRequest(group_id="readers", member_id="m")
    with pytest.raises(UnsupportedVersion) as refused:
        handle_consumer_group_heartbeat(ctx, request)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION
    return str(refused.value)


async def test_client_and_log_are_told_what_to_set(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with topic_broker(tmp_path) as broker:
        assert "group.protocol=classic" in heartbeat(broker, "app", 5000)
    assert [record.getMessage() for record in caplog.records] == [
        "app (librdkafka 2.16.0) at 127.0.0.1:5000 wants to join group readers by the "
        "consumer protocol (KIP-848), which this broker does not have: set "
        "group.protocol=classic in the client"
    ]


async def test_each_client_and_connection_has_a_line_of_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with topic_broker(tmp_path) as broker:
        for client_id, port in [("app", 1), ("app", 1), ("app", 2), ("other", 2)]:
            heartbeat(broker, client_id, port)
            broker.services.clock.advance(1000)  # type: ignore[attr-defined]
    beginnings = [record.getMessage().split(" wants")[0] for record in caplog.records]
    assert beginnings == [
        "app (librdkafka 2.16.0) at 127.0.0.1:1",
        "app (librdkafka 2.16.0) at 127.0.0.1:2",
        "other (librdkafka 2.16.0) at 127.0.0.1:2",
    ]
