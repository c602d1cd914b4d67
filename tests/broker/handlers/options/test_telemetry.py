from pathlib import Path

import pytest

from odradek.protocol.errors import UnknownSubscriptionId
from odradek.protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    PushTelemetryRequest,
)
from tests.fakes.topics import topic_broker


async def test_a_client_asks_and_pushes(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        wanted = await broker.ask(GetTelemetrySubscriptionsRequest(), 0)
        assert wanted.error_code == 0
        assert wanted.accepted_compression_types == [4, 3, 1, 2]
        assert wanted.telemetry_max_bytes == 1 << 20
        assert wanted.delta_temporality
        push = PushTelemetryRequest(
            client_instance_id=wanted.client_instance_id,
            subscription_id=wanted.subscription_id,
        )
        assert (await broker.ask(push, 0)).error_code == 0
        push.subscription_id += 1
        with pytest.raises(UnknownSubscriptionId):
            await broker.ask(push, 0)
