from pathlib import Path
from typing import Any

from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.text.offset_reset import OffsetReset
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.resource_options import (
    Resource,
    ResourceKind,
    ResourceOptions,
)
from odradek.broker.share import settings as module
from odradek.broker.share.acquire import Limits
from odradek.broker.share.settings import Settings, ShareSettings, share_settings
from odradek.storage.values.log_read import FetchIsolation


def config(**options: Any) -> BrokerConfig:
    return BrokerConfig(log_dirs=(Path("/logs"),), **options)


def test_the_brokers_are_those_of_a_group_without_any() -> None:
    assert share_settings({}, config()) == ShareSettings(
        Limits(30_000, 2_000, 5),
        FetchIsolation.HIGH_WATERMARK,
        OffsetReset("latest"),
        True,
    )


def test_a_group_has_its_own_within_the_bounds_of_the_broker() -> None:
    options = {
        "share.record.lock.duration.ms": "1000",
        "share.partition.max.record.locks": "9999",
        "share.delivery.count.limit": "3",
        "share.isolation.level": "read_committed",
        "share.auto.offset.reset": "by_duration:PT1H",
        "share.renew.acknowledge.enable": "false",
    }
    assert share_settings(options, config()) == ShareSettings(
        Limits(15_000, 4_000, 3),
        FetchIsolation.TXN_COMMITTED,
        OffsetReset("by_duration", 3_600_000),
        False,
    )


async def test_they_follow_what_is_changed(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    try:
        resources, live = ResourceOptions(catalog), LiveConfig(config())
        settings = Settings(resources, live)
        assert settings.of("g").limits.count_max == 5
        group = Resource(ResourceKind.GROUP, "g")
        await resources.alter(group, lambda _: {"share.delivery.count.limit": "7"})
        assert settings.of("g").limits.count_max == 7
        assert settings.of("other").limits.count_max == 5
        live.change({"group.share.delivery.count.limit": "9"}, {})
        assert settings.of("other").limits.count_max == 9
        for number in range(module._KNOWN_MAX + 1):
            settings.of(f"stranger-{number}")
        assert len(settings._known) < 10
        settings.forget("g")
        assert settings.of("g").limits.count_max == 7
    finally:
        await catalog.close()
