from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.option import INT_MAX
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.client_quotas import (
    ClientQuotas,
    Quota,
    QuotaEntity,
    QuotaKey,
)
from odradek.broker.metadata.resource_options import ResourceOptions

PRODUCE = QuotaKey.PRODUCE
# From the least precise to the most precise.
ENTITIES: list[dict[str, str | None]] = [
    {"client-id": None},
    {"client-id": "c"},
    {"user": None},
    {"user": None, "client-id": None},
    {"user": None, "client-id": "c"},
    {"user": "u"},
    {"user": "u", "client-id": None},
    {"user": "u", "client-id": "c"},
]


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[ResourceOptions]:
    catalog = Catalog.open(directory)
    try:
        yield ResourceOptions(catalog)
    finally:
        await catalog.close()


async def put(
    resources: ResourceOptions, names: Mapping[str, str | None], limit: float
) -> None:
    options = {str(PRODUCE): repr(limit)}
    await resources.alter(QuotaEntity.of(names).resource, lambda _: options)


async def test_the_most_precise_quota_holds(tmp_path: Path) -> None:
    async with opened(tmp_path) as resources:
        quotas = ClientQuotas(resources)
        assert not quotas
        assert quotas.find(PRODUCE, "u", "c") is None
        for number, names in enumerate(ENTITIES, 1):
            await put(resources, names, number)
            found = quotas.find(PRODUCE, "u", "c")
            assert found is not None
            assert found.limit == number
        assert quotas.version == len(ENTITIES)
        assert quotas.find(QuotaKey.FETCH, "u", "c") is None
        stranger = quotas.find(PRODUCE, "v", "d")
        assert stranger == Quota(4.0, QuotaEntity.of({"user": "v", "client-id": "d"}))
        again = ClientQuotas(resources)
        assert dict(again) == dict(quotas)


async def test_who_has_a_default_has_it_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as resources:
        quotas = ClientQuotas(resources)
        await put(resources, {"user": None}, 5)
        one, two = (quotas.find(PRODUCE, user, "c") for user in "ab")
        assert one == Quota(5, QuotaEntity.of({"user": "a"}))
        assert two == Quota(5, QuotaEntity.of({"user": "b"}))


async def test_addresses_have_quotas_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as resources:
        quotas = ClientQuotas(resources)
        key = QuotaKey.CONNECTION
        assert quotas.find_of_address(key, "127.0.0.1") is None
        for name, limit in ((None, 7), ("127.0.0.1", 8)):
            entity = QuotaEntity.of({"ip": name})
            options = {str(key): str(limit)}
            await resources.alter(entity.resource, lambda _, o=options: o)  # type: ignore[misc]
        named = quotas.find_of_address(key, "127.0.0.1")
        other = quotas.find_of_address(key, "127.0.0.2")
        assert named is not None
        assert other is not None
        assert (named.limit, other.limit) == (8, 7)
        assert other.entity == QuotaEntity.of({"ip": "127.0.0.2"})


async def test_a_removed_quota_holds_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path) as resources:
        quotas = ClientQuotas(resources)
        await put(resources, {"user": "u"}, 1)
        await resources.alter(QuotaEntity.of({"user": "u"}).resource, lambda _: {})
        assert quotas.find(PRODUCE, "u", "c") is None
        assert list(quotas) == []


async def test_what_a_reader_is_sent_at_once(tmp_path: Path) -> None:
    config = BrokerConfig(quota_window_num=11, quota_window_size_seconds=1)
    async with opened(tmp_path) as resources:
        quotas = ClientQuotas(resources)
        assert quotas.fetch_bytes_max("u", "c", config) == INT_MAX
        user = QuotaEntity.of({"user": "u"}).resource
        await resources.alter(user, lambda _: {str(QuotaKey.FETCH): "1000.0"})
        assert quotas.fetch_bytes_max("u", "c", config) == 10_000
        assert quotas.fetch_bytes_max("v", "c", config) == INT_MAX
