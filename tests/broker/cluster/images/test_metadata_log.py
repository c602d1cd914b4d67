import asyncio
from contextlib import suppress
from typing import Any

import pytest

from odradek.broker.cluster.images.metadata_log import NOWHERE, LogPosition, MetadataLog
from odradek.broker.runtime.start_error import StartError
from odradek.client.address import Address
from odradek.protocol.errors import InconsistentClusterId, SaslAuthenticationFailed
from tests.broker.cluster.cluster_state import topic
from tests.fakes.joined_quorum import JoinedQuorum
from tests.patience import PATIENCE_S

AT = [Address("controller-1", 9093)]
LONG_MS = 1000 * PATIENCE_S


def metadata_log(quorum: JoinedQuorum) -> MetadataLog:
    connect: Any = quorum.connect
    return MetadataLog(AT, "a cluster", connect)


async def test_the_newest_image_is_there_after_each_answer() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    log = metadata_log(quorum)
    is_there = asyncio.Event()

    def on_step() -> None:
        if "b" in log.newest.image.topic_ids:
            is_there.set()

    async with asyncio.timeout(PATIENCE_S):
        await log.catch_up(LONG_MS)
        assert set(log.newest.image.topic_ids) == {"a"}
        assert log.leader == AT[0]
        following = asyncio.create_task(log.follow(on_step))
        quorum.write(topic("b"))
        await is_there.wait()
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
    log.close()


async def test_controllers_of_another_cluster_are_named() -> None:
    quorum = JoinedQuorum()
    quorum.refusals = [InconsistentClusterId()]
    log = metadata_log(quorum)
    with pytest.raises(StartError, match="controller-1:9093 are of another cluster"):
        await log.catch_up(LONG_MS)
    log.close()


async def test_a_refusal_at_the_start_is_told() -> None:
    quorum = JoinedQuorum()
    quorum.refusals = [SaslAuthenticationFailed("wrong password")]
    log = metadata_log(quorum)
    with pytest.raises(StartError, match="cannot be followed: wrong password"):
        await log.catch_up(LONG_MS)
    log.close()


async def test_another_log_that_has_grown_past_what_was_applied_is_found_out() -> None:
    """As one that was restored from a copy: its epochs are not those that were read."""
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    quorum.elect()
    quorum.write(topic("b"))
    quorum.write(topic("c"))
    log = metadata_log(quorum)
    async with asyncio.timeout(PATIENCE_S):
        await log.catch_up(LONG_MS)
        for known in (NOWHERE, LogPosition(1, 0), LogPosition(2, 1), LogPosition(2, 2)):
            await log.see_that_it_has(known)
        await log.see_that_it_has(LogPosition(2, 50))  # older: `why_behind` says so
        with pytest.raises(StartError, match="had epoch 1 at offset 1;"):
            await log.see_that_it_has(LogPosition(1, 1))
        quorum.refusals = [SaslAuthenticationFailed("wrong password")]
        await log.see_that_it_has(LogPosition(1, 1))  # without an answer nobody knows
    log.close()
