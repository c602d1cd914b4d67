"""Follows one broker, for all the partitions that it leads and of which we are a copy.

A request is for all of them, and the next one leaves when what the last has brought is
as durable as this broker's records have to be: one sync for all. The thread that waits
for answers is the channel's own; what it brings is applied on the loop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.list_offsets import ListOffsetsResponse

from .followed_partition import RETRY_MS
from .leader_requests import answers_of, end_of, end_request, fetch_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.cluster.controller_channel import ControllerChannel
    from odradek.broker.replica.follower_replicas import FollowerReplicas
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition

    from .followed_partition import Asked, FollowedPartition

IDLE_MS: Final = 50
_TIMEOUT_S: Final = 30.0  # replica.socket.timeout.ms


class FollowerParts(NamedTuple):
    """What all fetchers work with. ``broker_epoch`` is that of our registration."""

    node_id: int
    replicas: FollowerReplicas
    broker_epoch: Callable[[], int]
    clock: Clock
    bugs: Bugs


class ReplicaFetcher:
    """What is followed of one broker. ``trouble`` is why it cannot be asked."""

    def __init__(self, channel: ControllerChannel, parts: FollowerParts) -> None:
        self.followed: dict[TopicPartition, FollowedPartition] = {}
        self.trouble: str | None = None
        self._channel = channel
        self._node_id, self._replicas, self._broker_epoch, self._clock, self._bugs = (
            parts
        )
        self._turn = 0

    async def run(self) -> None:
        """Follow until it is cancelled."""
        try:
            while True:
                try:
                    wait_ms = await self._step()
                except Exception as error:
                    self._bugs.record("replicas that follow", error)
                    wait_ms = RETRY_MS
                if wait_ms:
                    await self._clock.sleep(wait_ms)
        finally:
            self._channel.close()

    async def _step(self) -> int:
        """Ask, and take the answer. Returns how long to wait before the next time."""
        asked = await self._asked()
        if not asked:
            return IDLE_MS
        return 0 if await self._fetch(asked) else RETRY_MS

    async def _asked(self) -> dict[FollowedPartition, Asked]:
        """What to ask for, each time beginning with another: answers are limited."""
        due = [each for each in list(self.followed.values()) if each.is_due]
        due = [each for each in due if await each.open()]
        await self._replicas.sync([each.partition for each in due])
        self._turn += 1
        first = self._turn % len(due) if due else 0
        asked = {}
        for each in due[first:] + due[:first]:
            wanted = None if each.is_ended else each.asked()
            if wanted is not None:
                asked[each] = wanted
        return asked

    async def _fetch(self, asked: dict[FollowedPartition, Asked]) -> bool:
        request = fetch_request(self._node_id, self._broker_epoch(), asked.values())
        try:
            response = await self._channel.ask(request, FetchResponse, _TIMEOUT_S)
            found = answers_of(response)
        except (KafkaError, OSError, MalformedRequest) as error:
            self.trouble = str(error) or repr(error)
            return False
        self.trouble = None
        for each, wanted in asked.items():
            answer = found.get((wanted.topic_id, wanted.partition))
            if answer is not None:
                await each.take(wanted, answer, self._ends)
                if answer.records:
                    await asyncio.sleep(0)  # others get a turn between megabytes
        return True

    async def _ends(self, asked: Asked) -> tuple[int, int]:
        start, end = [
            end_of(
                await self._channel.ask(
                    end_request(self._node_id, asked, is_start=is_start),
                    ListOffsetsResponse,
                    _TIMEOUT_S,
                )
            )
            for is_start in (True, False)
        ]
        return start, end
