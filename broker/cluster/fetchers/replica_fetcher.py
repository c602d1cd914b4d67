"""Follows one broker, for partitions that it leads and of which we are a copy.

A request says what is new since the last one: the leader keeps the rest in a session.
The next one leaves when what the last has brought is as durable as this broker's
records have to be: one sync for all. The loop goes on while the channel waits for an
answer; what it brings is applied there.

Mostly all that an answer says is done where it is read, and the next request leaves
at once: no task is woken, and nothing is decoded that need not be (`usual_fetches`).
All else is for the task: what has to be opened, cut, synced first or is refused.

Invariant: a partition that could not be made durable, or waits for its next try, is
not in the session: what a leader was told once would count on.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.client.errors import raise_for
from odradek.protocol.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
    KafkaError,
    MalformedRequest,
)
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.list_offsets import ListOffsetsResponse

from .fetch_session_handler import FetchSessionHandler
from .leader_requests import end_of, end_request, fetch_request
from .usual_fetches import NAMED_MAX, UsualFetches, response_of, usual_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.cluster.throttles import Throttle
    from odradek.broker.replica.follower_replicas import FollowerReplicas
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.client.connection import Connection
    from odradek.protocol.primitives import Buffer

    from .fetch_session_handler import Place, SessionRequest
    from .fetch_settings import FetchSettings
    from .followed_partition import FollowedPartition
    from .leader_channel import LeaderChannel
    from .leader_requests import Asked
    from .usual_fetches import UsualAnswer

IDLE_MS: Final = 50
# What changes without an answer, as the log start does, is told after so long.
_LOOK_MS: Final = 1_000
_TURN_SIZE: Final = 256 << 10  # bytes of answers that are applied in one turn
_OUT_OF_STEP = (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)

_logger = logging.getLogger(__name__)


class FollowerParts(NamedTuple):
    """What all fetchers work with. ``broker_epoch`` is that of our registration.

    ``throttle`` slows down those that have to catch up.
    """

    node_id: int
    replicas: FollowerReplicas
    broker_epoch: Callable[[], int]
    clock: Clock
    bugs: Bugs
    settings: FetchSettings
    throttle: Throttle


class ReplicaFetcher:
    """What is followed of one broker. ``trouble`` is why it cannot be asked."""

    def __init__(
        self, leader: int, channel: LeaderChannel, parts: FollowerParts
    ) -> None:
        self.leader = leader
        self.trouble: str | None = None
        self._channel = channel
        (
            self._node_id,
            self._replicas,
            self._broker_epoch,
            self._clock,
            self._bugs,
            self._settings,
            self._throttle,
        ) = parts
        self._timeout_s = self._settings.timeout_ms / 1000
        self._followed: dict[Place, FollowedPartition] = {}
        self._session = FetchSessionHandler()
        # Of these the leader does not know what we want; and those that must wait.
        self._changed: dict[Place, None] = {}
        self._opening: dict[FollowedPartition, asyncio.Task[None]] = {}
        self._look_at_ms = 0
        self._usual = UsualFetches(self._node_id, self._settings)
        self._session_id = self._number = 0  # of the usual request that is on its way
        self._unusual: memoryview | None = None  # an answer that nobody has taken

    @property
    def is_idle(self) -> bool:
        """Whether it follows nothing any more."""
        return not self._followed

    def add(self, followed: FollowedPartition) -> None:
        """Follow a partition, instead of what was followed of it before."""
        self._followed[followed.place] = followed
        self._changed[followed.place] = None

    def remove(self, followed: FollowedPartition) -> None:
        """Follow it no more."""
        if self._followed.get(followed.place) is followed:
            del self._followed[followed.place]
            self._changed.pop(followed.place, None)
            self._session.leave_out(followed.place)

    async def run(self) -> None:
        """Follow until it is cancelled."""
        try:
            while True:
                try:
                    wait_ms = await self._step()
                except Exception as error:
                    self._bugs.record("replicas that follow", error)
                    self._session.lost()
                    wait_ms = self._settings.backoff_ms
                if wait_ms:
                    await self._clock.sleep(wait_ms)
        finally:
            self._channel.close()
            opening = list(self._opening.values())
            for each in opening:
                each.cancel()
            await asyncio.gather(*opening, return_exceptions=True)

    async def _step(self) -> int:
        """Ask, and take the answer. Returns how long to wait before the next time."""
        await self._decide_what_to_ask()
        if not self._session.wanted:
            return IDLE_MS
        return 0 if await self._fetch() else self._settings.backoff_ms

    async def _decide_what_to_ask(self) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + _LOOK_MS
            self._changed = dict.fromkeys(self._followed)
        changed, self._changed = self._changed, {}
        looked_at = [self._followed[place] for place in changed]
        ready = await self._ready(looked_at)
        await self._replicas.sync([each.partition for each in ready])
        for each in looked_at:
            if self._followed.get(each.place) is not each:
                continue  # gone, or followed anew
            asked = None
            if each in ready and not self._is_held_back(each):
                asked = each.asked()
            if asked is not None:
                self._session.want(each.place, asked)
            else:
                self._session.leave_out(each.place)
                self._changed[each.place] = None

    def _is_held_back(self, followed: FollowedPartition) -> bool:
        throttle = self._throttle
        return (
            throttle.is_exceeded
            and followed.is_behind
            and throttle.names(followed.partition.topic_partition)
        )

    async def _ready(
        self, looked_at: Iterable[FollowedPartition]
    ) -> dict[FollowedPartition, None]:
        """Those that are due and open. Nobody waits for a log that is to be read."""
        due = [each for each in looked_at if each.is_due and each not in self._opening]
        closed = [each for each in due if not each.is_open]
        for each in closed:
            if each.is_on_disk:
                self._begin_opening(each)
            else:
                await each.open()
        return {each: None for each in due if each.is_open and not each.is_ended}

    def _begin_opening(self, followed: FollowedPartition) -> None:
        def note(task: asyncio.Task[None]) -> None:
            del self._opening[followed]
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._bugs.record(f"open {followed.partition}", error)
                followed.note(repr(error))

        task = asyncio.get_running_loop().create_task(
            followed.open(), name=f"open {followed.partition.topic_partition}"
        )
        self._opening[followed] = task
        task.add_done_callback(note)

    async def _fetch(self) -> bool:
        session = self._session
        is_full, said = session.is_full, session.next_request()
        try:
            response = await self._ask(said)
            raise_for(response.error_code)
        except _OUT_OF_STEP as error:
            session.lost(is_known=not isinstance(error, FetchSessionIdNotFound))
            if is_full:
                self._note(str(error) or repr(error))
            return not is_full
        except (KafkaError, OSError, MalformedRequest) as error:
            session.lost()
            self._note(str(error) or repr(error))
            return False
        session.took(response.session_id)
        self._note(None)
        await self._take(response)
        return True

    async def _ask(self, said: SessionRequest) -> FetchResponse:
        """The answer; or, if what is usual was done already, that to the last of many.

        Raises:
            OSError, KafkaError, MalformedRequest: as `LeaderChannel.ask`.
        """
        channel, broker_epoch = self._channel, self._broker_epoch()
        connection = channel.prompt()
        if connection is not None:
            request = self._usual.request(connection, broker_epoch, said)
            if request is not None:
                return await self._converse(connection, said, request)
        whole = fetch_request(self._node_id, broker_epoch, said, self._settings)
        is_small = len(said.named) + len(said.forgotten) <= NAMED_MAX
        ask = channel.ask_briefly if is_small else channel.ask
        return await ask(whole, FetchResponse, self._timeout_s)

    # What is usual

    async def _converse(
        self, connection: Connection, said: SessionRequest, request: bytes
    ) -> FetchResponse:
        """Fetch, while nothing is special. Returns what of an answer is to be done."""
        self._session_id, self._number, self._unusual = *said[:2], None
        left: list[UsualAnswer] = []

        def go_on(frame: memoryview) -> bytes | None:
            found = usual_answers(frame, self._number, self._session_id)
            if found is None:
                self._unusual = frame
                return None
            if self.trouble is not None:
                self._note(None)
            left.extend([each for each in found if not self._take_usual(each)])
            if left or not connection.is_prompt or not self._decide_at_once():
                return None
            self._session.took(self._session_id)
            said = self._session.next_request()
            self._session_id, self._number = said[:2]
            request = self._usual.request(connection, self._broker_epoch(), said)
            assert request is not None, said
            return request

        frame = await self._channel.converse(
            connection, request, go_on, self._timeout_s
        )
        frame = frame or self._unusual
        if frame is None:
            return response_of(self._session_id, left)
        version = self._usual.version_of(connection)
        return connection.answer_in(frame, self._number, FetchResponse, version)

    def _take_usual(self, answer: UsualAnswer) -> bool:
        """Apply what an answer says of a partition; False: it is not that simple."""
        place, batches = answer[:2], answer.batches
        followed, asked = self._followed.get(place), self._session.wanted.get(place)
        if followed is None or asked is None:
            return True
        try:
            if not followed.take_usual(
                asked, batches, answer.high_watermark, answer.log_start_offset
            ):
                return False
        except Exception as error:  # the others of this leader go on
            self._note_bug(followed, error, batches)
        self._changed[place] = None
        if batches is not None:
            self._count(followed, len(batches))
        return True

    def _decide_at_once(self) -> bool:
        """Decide what to ask, unless something has to be waited for, or looked at."""
        session = self._session
        if (
            session.has_left_out
            or len(self._changed) > NAMED_MAX
            or self._clock.monotonic_ms() >= self._look_at_ms
            or self._replicas.syncs_first
            or self._throttle.is_on
        ):
            return False
        changed = [self._followed[place] for place in self._changed]
        for each in changed:
            if not each.is_at_ease:
                return False
        for each in changed:
            asked = each.asked()
            assert asked is not None, each.place
            session.want(each.place, asked)
        self._changed.clear()
        return True

    # All else

    async def _take(self, response: FetchResponse) -> None:
        """Apply an answer; what it says nothing of is asked for as before."""
        asked, size = self._session.wanted, 0
        for topic in response.responses:
            for answer in topic.partitions:
                place = bytes(topic.topic_id), answer.partition_index
                followed, wanted = self._followed.get(place), asked.get(place)
                if followed is None or wanted is None:
                    continue
                self._changed[place] = None
                if answer.records:
                    self._count(followed, len(answer.records))
                try:
                    await followed.take(wanted, answer, self._ends)
                except Exception as error:  # the others of this leader go on
                    self._note_bug(followed, error, answer.records)
                size += len(answer.records or b"")
                if size >= _TURN_SIZE or answer.diverging_epoch.epoch >= 0:
                    size = 0
                    await asyncio.sleep(0)  # others get a turn between megabytes

    def _note_bug(
        self, followed: FollowedPartition, error: Exception, batches: Buffer | None
    ) -> None:
        place = followed.partition.topic_partition
        self._bugs.record(f"a replica of {place.topic}", error)
        followed.note(repr(error), is_dear=bool(batches))

    def _count(self, followed: FollowedPartition, size: int) -> None:
        throttle, place = self._throttle, followed.partition.topic_partition
        throttle.copied.record(place, self._node_id, size)
        if throttle.is_on and throttle.names(place):
            throttle.record(size)

    def _note(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            what = "goes on" if trouble is None else trouble
            level = logging.INFO if trouble is None else logging.WARNING
            _logger.log(level, "replicas that follow broker %d: %s", self.leader, what)

    async def _ends(self, asked: Asked) -> tuple[int, int]:
        start, end = [
            end_of(
                await self._channel.ask(
                    end_request(self._node_id, asked, is_start=is_start),
                    ListOffsetsResponse,
                    self._timeout_s,
                )
            )
            for is_start in (True, False)
        ]
        return start, end
