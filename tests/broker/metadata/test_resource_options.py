import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.resource_options import (
    Resource,
    ResourceKind,
    ResourceOptions,
)
from odradek.protocol.errors import InvalidConfig

G = Resource(ResourceKind.GROUP, "g")
BROKERS = Resource(ResourceKind.BROKER, "")


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[ResourceOptions]:
    catalog = Catalog.open(directory)
    try:
        yield ResourceOptions(catalog)
    finally:
        await catalog.close()


def adding(**more: str) -> "Adding":
    return Adding(more)


class Adding:
    def __init__(self, more: Mapping[str, str]) -> None:
        self.more = more

    def __call__(self, options: Mapping[str, str]) -> Mapping[str, str]:
        return {**options, **self.more}


async def test_options_are_there_when_committed_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as options:
        seen: list[tuple[Resource, Mapping[str, str]]] = []
        options.watch(lambda resource: seen.append((resource, options.of(resource))))
        altering = asyncio.ensure_future(options.alter(G, adding(a="1")))
        await asyncio.sleep(0)
        assert options.of(G) == {}
        await altering
        await options.alter(G, adding(b="2"))
        await options.alter(G, adding(b="2"))  # changes nothing
        assert seen == [(G, {"a": "1"}), (G, {"a": "1", "b": "2"})]
        await options.alter(BROKERS, adding(c="3"))
    async with opened(tmp_path) as options:
        assert options.of(G) == {"a": "1", "b": "2"}
        assert list(options.all_of(ResourceKind.BROKER)) == [("", {"c": "3"})]
        await options.alter(G, lambda _: {})
        assert list(options.all_of(ResourceKind.GROUP)) == []
    async with opened(tmp_path) as options:
        assert options.of(G) == {}


async def test_two_changes_at_once_are_both_made(tmp_path: Path) -> None:
    async with opened(tmp_path) as options:
        await asyncio.gather(
            options.alter(G, adding(a="1")), options.alter(G, adding(b="2"))
        )
        assert options.of(G) == {"a": "1", "b": "2"}


async def test_a_refused_change_changes_nothing(tmp_path: Path) -> None:
    def refuse(_: Mapping[str, str]) -> Mapping[str, str]:
        raise InvalidConfig("no")

    async with opened(tmp_path) as options:
        with pytest.raises(InvalidConfig):
            await options.alter(G, refuse)
        assert options.of(G) == {}


async def test_kinds_are_kept_apart(tmp_path: Path) -> None:
    async with opened(tmp_path) as options:
        assert not options.has_any(ResourceKind.GROUP)
        await options.alter(G, adding(a="1"))
        await options.alter(Resource(ResourceKind.QUOTA, "g"), adding(b="2"))
        assert options.has_any(ResourceKind.GROUP)
        assert not options.has_any(ResourceKind.MIRROR)
        assert list(options.all_of(ResourceKind.GROUP)) == [("g", {"a": "1"})]
        await options.alter(G, lambda _: {})
        assert not options.has_any(ResourceKind.GROUP)
        assert options.has_any(ResourceKind.QUOTA)
    async with opened(tmp_path) as options:
        assert not options.has_any(ResourceKind.GROUP)
        assert list(options.all_of(ResourceKind.QUOTA)) == [("g", {"b": "2"})]
