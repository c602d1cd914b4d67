from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.mirrored_topics import MirroredTopics
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.metadata.topics import Topics
from odradek.protocol.errors import PolicyViolation, TopicAlreadyExists
from odradek.protocol.uuids import random_uuid

ONE, TWO = random_uuid(), random_uuid()


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[tuple[Topics, MirroredTopics]]:
    catalog = Catalog.open(directory)
    topics = Topics(catalog)
    try:
        yield topics, MirroredTopics(ResourceOptions(catalog), topics)
    finally:
        await catalog.close()


async def test_what_is_a_copy_is_known_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as (topics, mirrored):
        await mirrored.begin(ONE, "m")
        await mirrored.begin(TWO, "m")
        await mirrored.promote(TWO)
        assert topics.mirrored == {ONE: "m"}
    async with opened(tmp_path) as (topics, mirrored):
        assert (topics.mirrored, mirrored.promoted) == ({ONE: "m"}, {TWO: "m"})
        assert (mirrored.of("m"), mirrored.of("other")) == ({ONE}, set())
        await mirrored.forget("m")
        assert (topics.mirrored, mirrored.promoted) == ({ONE: "m"}, {})


async def test_a_copy_has_the_id_of_its_original_and_is_not_to_be_changed(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (topics, mirrored):
        await mirrored.begin(ONE, "m")
        (made,) = await topics.create_topics([NewTopic("t", 1, {}, ONE)])
        assert not isinstance(made, Exception)
        assert made.topic_id == ONE
        (again,) = await topics.create_topics([NewTopic("u", 1, {}, ONE)])
        assert isinstance(again, TopicAlreadyExists)
        with pytest.raises(PolicyViolation, match="the mirror m follows"):
            topics.check_not_mirrored("t")
        topics.check_not_mirrored("u")
        await mirrored.promote(ONE)
        topics.check_not_mirrored("t")
        await topics.begin_deletions([ONE])
        (early,) = await topics.create_topics([NewTopic("v", 1, {}, ONE)])
        assert isinstance(early, TopicAlreadyExists)  # its files are still there
