"""A member, with clocks by which nobody waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from odradek.broker.cluster.registration.member import Member
from odradek.broker.cluster.registration.membership import Identity
from odradek.broker.config.cluster_options import ClusterOptions
from odradek.broker.quorum.image.image import Endpoint, MetadataImage
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.clock import Clock, SystemClock
from odradek.client.address import Address
from tests.fakes.joined_quorum import JoinedQuorum
from tests.patience import PATIENCE_S

OPTIONS = ClusterOptions(
    (), "PLAINTEXT", 10, 1000 * PATIENCE_S, 1000 * PATIENCE_S, 1000 * PATIENCE_S
)


class SoonClock(SystemClock):
    """By which waits are over in the next turn."""

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(0)


class JumpingClock(SystemClock):
    """By which a while has passed whenever somebody looks."""

    def __init__(self) -> None:
        self.looked_count = 0

    def monotonic_ms(self) -> int:
        self.looked_count += 1
        return self.looked_count * 20_000


class HastyClock(SystemClock):
    """By which much time has passed when a registration was refused twice."""

    def __init__(self, quorum: JoinedQuorum) -> None:
        self._quorum = quorum

    def monotonic_ms(self) -> int:
        is_over = len(self._quorum.asked) > 1
        return super().monotonic_ms() + is_over * 10**9


@asynccontextmanager
async def member(
    quorum: JoinedQuorum, clock: Clock | None = None, bugs: Bugs | None = None
) -> AsyncIterator[tuple[Member, list[MetadataImage]]]:
    endpoint = Endpoint("PLAINTEXT", "broker-1", 9092)
    identity = Identity(1, "a cluster", b"i" * 16, (endpoint,), (b"d" * 16,))
    at = [Address("controller-1", 9093)]
    connect: Any = quorum.connect
    made = Member(
        identity, at, OPTIONS, connect, clock or SystemClock(), bugs or Bugs()
    )
    try:
        yield made, []
    finally:
        await made.close()


def applier(images: list[MetadataImage]) -> Any:
    async def apply(_: MetadataImage, after: MetadataImage) -> None:
        images.append(after)

    return apply
