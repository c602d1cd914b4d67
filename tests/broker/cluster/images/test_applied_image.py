import asyncio

import pytest

from odradek.broker.cluster.images.applied_image import AppliedImage
from odradek.broker.cluster.images.metadata_log import ReadImage
from odradek.broker.quorum.image.image import EMPTY, MetadataImage
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.start_error import StartError
from tests.broker.cluster.cluster_state import topic
from tests.broker.quorum.image.states import state
from tests.patience import PATIENCE_S

OF_A = ReadImage(state(topic("a")), 17)


class SoonClock(SystemClock):
    """By which waits are over in the next turn."""

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(0)


async def test_it_is_the_image_only_when_it_is_applied() -> None:
    applied = AppliedImage(SystemClock(), Bugs())
    before: list[MetadataImage] = []

    async def apply(_: MetadataImage, __: MetadataImage) -> None:
        before.append(applied.found.image)

    applied.apply = apply
    waiting = asyncio.create_task(applied.until(lambda it: "a" in it.topic_ids, 10**9))
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        await applied.take(OF_A)
        assert await waiting
    assert before == [EMPTY]
    assert applied.found == OF_A


async def test_one_that_cannot_be_applied_is_given_up_at_last() -> None:
    applied = AppliedImage(SoonClock(), Bugs())
    tries = []

    async def apply(_: MetadataImage, after: MetadataImage) -> None:
        tries.append(after)
        raise OSError("no room")

    applied.apply = apply
    with pytest.raises(StartError, match="cannot be applied: no room"):
        await applied.take_at_last(OF_A)
    assert len(tries) == 30
    assert (applied.found, applied.why_stale) == (ReadImage(), "no room")


async def test_what_is_being_applied_is_not_cancelled() -> None:
    applied = AppliedImage(SystemClock(), Bugs())
    is_reached, is_open = asyncio.Event(), asyncio.Event()

    async def apply(_: MetadataImage, __: MetadataImage) -> None:
        is_reached.set()
        await is_open.wait()

    applied.apply = apply
    task = asyncio.create_task(applied.take_at_last(OF_A))
    async with asyncio.timeout(PATIENCE_S):
        await is_reached.wait()
        ending = asyncio.create_task(applied.end(task))
        await asyncio.sleep(0)
        assert not ending.done()
        is_open.set()
        await ending
    assert applied.found == OF_A
