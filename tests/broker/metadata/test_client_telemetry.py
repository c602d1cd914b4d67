from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.client_telemetry import ClientTelemetry
from odradek.broker.metadata.resource_options import (
    Resource,
    ResourceKind,
    ResourceOptions,
)
from odradek.protocol.compression import compress
from odradek.protocol.errors import (
    InvalidRecord,
    InvalidRequest,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
)
from odradek.protocol.uuids import ZERO_UUID
from tests.fakes.clock import FakeClock
from tests.protocol.test_otlp_metrics import GAUGE, data_of

PACKED = memoryview(data_of(GAUGE))


class Telemetry(ClientTelemetry):
    """With a clock to move, and subscriptions to change."""

    def __init__(self, resources: ResourceOptions) -> None:
        self.clock = FakeClock()
        self.resources = resources
        super().__init__(resources, self.clock, 1000)

    async def ask_for(self, name: str, **options: str) -> None:
        dotted = {key.replace("_", ".", 1): value for key, value in options.items()}
        resource = Resource(ResourceKind.CLIENT_METRICS, name)
        await self.resources.alter(resource, lambda _: dotted)


@asynccontextmanager
async def telemetry_in(directory: Path) -> AsyncIterator[Telemetry]:
    catalog = Catalog.open(directory)
    try:
        yield Telemetry(ResourceOptions(catalog))
    finally:
        await catalog.close()


async def test_a_client_is_asked_for_what_matches_it(tmp_path: Path) -> None:
    async with telemetry_in(tmp_path) as telemetry:
        assert not telemetry.is_wanted
        nothing = telemetry.subscribe(ZERO_UUID, {"client_id": "app"})
        assert (nothing.metrics, nothing.interval_ms) == ((), 300_000)
        assert nothing.client_instance_id != ZERO_UUID
        await telemetry.ask_for("one", metrics="b,a", interval_ms="5000")
        await telemetry.ask_for("two", metrics="c", match="client_id=app")
        await telemetry.ask_for("three", metrics="*", match="client_id=other")
        known = nothing.client_instance_id
        wanted = telemetry.subscribe(known, {"client_id": "app"})
        assert wanted.client_instance_id == known
        assert (wanted.metrics, wanted.interval_ms) == (("a", "b", "c"), 5000)
        assert wanted.subscription_id != nothing.subscription_id
        assert telemetry.subscribe(known, {"client_id": "app"}) == wanted
        other = telemetry.subscribe(ZERO_UUID, {"client_id": "other"})
        assert other.metrics == ("",)
        assert len(list(telemetry)) == 2
        assert telemetry.is_wanted


async def test_pushed_metrics_are_kept(tmp_path: Path) -> None:
    async with telemetry_in(tmp_path) as telemetry:
        wanted = telemetry.subscribe(ZERO_UUID, {})
        for codec in range(5):
            packed = PACKED if codec == 0 else memoryview(compress(codec, PACKED))
            telemetry.push(*wanted[:2], packed, codec, terminating=False)
            telemetry.clock.advance(wanted.interval_ms)
            [client] = telemetry
            assert [each.name for each in client.samples] == ["a.gauge"]
            client.samples = []


async def test_a_client_that_is_too_fast_is_told(tmp_path: Path) -> None:
    async with telemetry_in(tmp_path) as telemetry:
        wanted = telemetry.subscribe(ZERO_UUID, {})
        telemetry.push(*wanted[:2], PACKED, 0, terminating=False)
        telemetry.clock.advance(wanted.interval_ms // 2 - 1)
        with pytest.raises(ThrottlingQuotaExceeded):
            telemetry.push(*wanted[:2], PACKED, 0, terminating=False)
        telemetry.push(*wanted[:2], PACKED, 0, terminating=True)
        telemetry.clock.advance(wanted.interval_ms)
        with pytest.raises(InvalidRequest):
            telemetry.push(*wanted[:2], PACKED, 0, terminating=False)


async def test_a_client_that_does_not_know_must_ask(tmp_path: Path) -> None:
    async with telemetry_in(tmp_path) as telemetry:
        with pytest.raises(UnknownSubscriptionId):
            telemetry.push(bytes(16), 1, PACKED, 0, terminating=False)
        wanted = telemetry.subscribe(ZERO_UUID, {})
        await telemetry.ask_for("one", metrics="a")
        with pytest.raises(UnknownSubscriptionId):
            telemetry.push(*wanted[:2], PACKED, 0, terminating=False)


async def test_what_cannot_be_taken_is_refused(tmp_path: Path) -> None:
    async with telemetry_in(tmp_path) as telemetry:
        for data, codec, error in (
            (bytes(1001), 0, TelemetryTooLarge),
            (compress(1, bytes(20_000)), 1, TelemetryTooLarge),
            (b"x", 9, UnsupportedCompressionType),
            (b"\xff\xff", 0, InvalidRecord),
        ):
            wanted = telemetry.subscribe(ZERO_UUID, {})
            with pytest.raises(error):
                telemetry.push(*wanted[:2], memoryview(data), codec, terminating=False)
