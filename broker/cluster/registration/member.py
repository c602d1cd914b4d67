"""A broker of a cluster: it follows the controllers' log, and tells them how it is.

Three things go on at once. One reads the metadata log, in a thread. One applies the
newest image of it. And one asks what the membership says, and so keeps the broker in
the cluster; as the first, it waits for none of the others.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar

from odradek.broker.cluster.controller_channel import ControllerChannel
from odradek.broker.cluster.features import why_not_in
from odradek.broker.cluster.images.applied_image import AppliedImage
from odradek.broker.cluster.images.metadata_log import NOWHERE, LogPosition, MetadataLog
from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import InconsistentClusterId, KafkaError, MalformedRequest
from odradek.protocol.messages.alter_partition import AlterPartitionResponse
from odradek.protocol.messages.brokers import (
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

from .heartbeats import Heartbeats
from .membership import Membership, NotAdmitted, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from odradek.broker.cluster.images.applied_image import Apply
    from odradek.broker.config.cluster_options import ClusterOptions
    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.client.address import Address
    from odradek.client.connection import Connection
    from odradek.protocol.messages.alter_partition import AlterPartitionRequest
    from odradek.protocol.schema import Request, Response

    from .membership import Identity

_Response = TypeVar("_Response", bound="Response")

_logger = logging.getLogger(__name__)

_BEHIND_MS: Final = 10_000
_FORWARDED_TIMEOUT_S: Final = 60.0
_ISR_TIMEOUT_S: Final = 10.0  # the same may be asked again: it is agreed to once


class Member:
    """This broker among those of its cluster.

    ``image`` is what the metadata log says, as far as it is applied.
    """

    def __init__(
        self,
        identity: Identity,
        controllers: list[Address],
        options: ClusterOptions,
        connect: Callable[[Address], Connection],
        clock: Clock,
        bugs: Bugs,
    ) -> None:
        self.membership = Membership(identity, options.heartbeat_interval_ms)
        self.heartbeats = Heartbeats(options.heartbeat_interval_ms)
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._options = options
        self._clock = clock
        self._bugs = bugs
        self._log = MetadataLog(controllers, identity.cluster_id, connect)
        self._applied = AppliedImage(clock, bugs)
        self._beats = ControllerChannel("heartbeats", self._leader, connect)
        self._isr = ControllerChannel("in-sync replicas", self._leader, connect)
        self._requests = ControllerChannel("controller", self._leader, connect)
        self._woken = asyncio.Event()
        self._news = asyncio.Event()  # of the membership, or of the metadata log
        self._tasks: list[asyncio.Task[None]] = []
        self._applying: asyncio.Task[None] | None = None
        self._is_refused = False  # there are no heartbeats any more
        self._is_blind = False  # nobody hears which controller leads

    @property
    def image(self) -> MetadataImage:
        """What the metadata log says, as far as it is applied."""
        return self._applied.found.image

    @property
    def applied_timestamp_ms(self) -> int:
        """Of the last record of it."""
        return self._applied.found.timestamp_ms

    @property
    def why_unread(self) -> str:
        """Why the metadata log is not read, if it is not."""
        return self._log.trouble

    @property
    def why_stale(self) -> str:
        """Why the newest image is not applied, if it is not."""
        return self._applied.why_stale

    @property
    def node_id(self) -> int:
        """The id of this broker."""
        return self.membership.identity.node_id

    @property
    def broker_epoch(self) -> int:
        """That of the registration."""
        return self.membership.broker_epoch

    def _leader(self) -> Address | None:
        return self._log.leader

    # Start

    async def join(self, apply: Apply, known: LogPosition = NOWHERE) -> None:
        """Register, and return when everything that was decided before is applied.

        ``known`` is how far the metadata log was applied here before this start.

        Raises:
            StartError: the cluster will not have us, or there is none; it says why.
        """
        timeout_ms = self._options.registration_timeout_ms
        self._applied.apply = apply
        await self._log.catch_up(timeout_ms)
        await self._log.see_that_it_has(known)
        self._check(self._log.newest.image)
        identity = self.membership.identity
        self._log.identify(identity.node_id, identity.directories[0])
        self._begin(self._read(), "metadata log")
        await self._await_what_is_known(known)
        self._begin(self._beat(), "heartbeats")
        await self._await_stage(
            Stage.CATCHING_UP, timeout_ms, "the broker is not registered"
        )
        # Any older one may say what holds no more.
        if not await self._await(
            lambda: self._log.newest.image.offset >= self.broker_epoch, timeout_ms
        ):
            raise self._late("the metadata log has no registration of it", timeout_ms)
        newest = self._log.newest
        self._check(newest.image)
        try:
            await asyncio.shield(self._apply_in_task(self._applied.take(newest)))
        except KafkaError as error:
            raise StartError(
                f"what the cluster has decided cannot be kept here: {error}"
            ) from error
        self.membership.applied(newest.image.offset)
        self._apply_in_task(self._until_failure(self._apply_all()))
        await self._await_stage(
            Stage.RECOVERING, timeout_ms, "the broker does not catch up"
        )

    async def _await_what_is_known(self, known: LogPosition) -> None:
        """Read on to where the log was applied before, and have no topics go till then.

        A controller that has slept may take itself for the leader for one more answer.
        A log that is another one must not be waited for: it would grow that long.
        """
        if await self._await(lambda: not self._log.why_behind(known), _BEHIND_MS):
            return
        raise StartError(self._log.why_behind(known))

    async def serve(self) -> None:
        """Let clients come: return when the controllers know that they may.

        Raises:
            StartError: they do not.
        """
        self.membership.become_ready()
        self._woken.set()
        timeout_ms = self._options.registration_timeout_ms
        await self._await_stage(Stage.SERVING, timeout_ms, "the broker stays fenced")
        # Whoever comes then is told of us, too.
        if not await self._await(
            lambda: self._applied.has_unfenced(self.node_id), timeout_ms
        ):
            raise self._late("the metadata log has the broker fenced", timeout_ms)

    async def leave(self) -> None:
        """Give what this broker leads to others, as far as there are some.

        A broker that has failed does so, too, while there are heartbeats. Nothing is
        applied any more then, as what it would be applied to is closed.
        """

        def is_over() -> bool:
            is_lost = self._is_blind and self.membership.trouble != ""
            return is_lost or self._is_refused or self.membership.stage is Stage.GONE

        self.membership.leave()
        self._woken.set()
        await self._await(
            is_over, self._options.shutdown_timeout_ms, though_failed=True
        )
        await self._end_applying()

    async def close(self) -> None:
        """Follow nothing any more."""
        await self._end_applying()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        for each in (self._beats, self._requests, self._isr):
            each.close()
        self._log.close()

    def _begin(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.append(task)

    def _apply_in_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """So that a start that is cancelled ends between two images, too."""
        task = asyncio.get_running_loop().create_task(work, name="what was decided")
        self._applying = task
        return task

    async def _end_applying(self) -> None:
        if self._applying is not None:
            await self._applied.end(self._applying)

    # What others ask

    @property
    def controller_versions(self) -> Mapping[int, tuple[int, int]]:
        """The versions of each API of the controller that leads."""
        return self._beats.api_versions

    async def ask_controller(
        self, request: Request, response_class: type[_Response]
    ) -> _Response:
        """The answer of the controller that leads, whoever that is by then.

        Raises:
            RequestTimedOut: there was none.
        """
        return await self._requests.ask_at_last(
            request, response_class, _FORWARDED_TIMEOUT_S, self._clock
        )

    async def alter_partitions(
        self, request: AlterPartitionRequest
    ) -> AlterPartitionResponse:
        """The answer of the controller that leads, to changes of in-sync replicas.

        Raises:
            OSError, KafkaError, MalformedRequest: there is none; ask again.
        """
        return await self._isr.ask(request, AlterPartitionResponse, _ISR_TIMEOUT_S)

    async def applied_until(
        self, is_there: Callable[[MetadataImage], bool], timeout_ms: int
    ) -> bool:
        """Return when an image is applied that says so, or the time is over."""
        return await self._applied.until(is_there, timeout_ms)

    def lose_directory(self, directory_id: bytes) -> None:
        """Let the controllers know that a log directory has failed."""
        self.membership.lose_directory(directory_id)
        self._woken.set()

    # The metadata log

    async def _read(self) -> None:
        await self._until_failure(self._log.follow(self._note_step))
        self._is_blind = True

    def _note_step(self) -> None:
        if self._log.leader is not None:
            for each in (self._beats, self._isr, self._requests):
                each.drop_former_leader()
        self._news.set()

    async def _apply_all(self) -> None:
        while True:
            newest = self._log.newest
            if newest.image is self.image:
                self._news.clear()
                await self._news.wait()
            else:
                self._check(newest.image)
                await self._applied.take_at_last(newest)
                self.membership.applied(newest.image.offset)
                self._news.set()

    async def _until_failure(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except (StartError, MetadataLogError, InconsistentClusterId) as error:
            self.fail(f"the metadata log cannot be followed: {error}")
        except Exception as error:  # else nobody would hear of it
            self._bugs.record("the metadata log", error)
            self.fail(f"the metadata log cannot be followed: {error!r}")

    def _check(self, image: MetadataImage) -> None:
        """See that we fit the cluster."""
        leader = self._log.leader or self._log.controllers[0]
        why_not = why_not_in(image, self.node_id, str(leader))
        if why_not is not None:
            raise StartError(why_not)

    # Registration and heartbeats

    async def _beat(self) -> None:
        membership = self.membership
        try:
            while (question := membership.next_question()) is not None:
                if question.wait_ms:
                    await self._wait(question.wait_ms)
                    question = membership.next_question()
                    if question is None:
                        break
                await self._ask_or_note(question.request)
                self._news.set()
        except NotAdmitted as error:
            self._is_refused = True
            self.fail(str(error))
        self._news.set()

    async def _wait(self, wait_ms: int) -> None:
        """Until then, or until there is something to say."""
        timer = self._clock.call_later(wait_ms, self._woken.set)
        await self._woken.wait()
        self._woken.clear()
        timer.cancel()

    async def _ask_or_note(self, request: Request) -> None:
        """Ask. What nobody expects ends no heartbeats: the next one may do better."""
        try:
            await self._ask(request)
        except NotAdmitted:
            raise
        except Exception as error:
            self._bugs.record("heartbeats", error)
            self.membership.lost(repr(error))

    async def _ask(self, request: Request) -> None:
        kind: type[BrokerRegistrationResponse | BrokerHeartbeatResponse]
        kind = BrokerHeartbeatResponse
        if isinstance(request, BrokerRegistrationRequest):
            kind = BrokerRegistrationResponse
        timeout_s = self._options.request_timeout_ms / 1000
        try:
            answer = await self._beats.ask(request, kind, timeout_s)
        except (OSError, KafkaError, MalformedRequest) as error:
            self.membership.lost(str(error))
        else:
            self.heartbeats.note_answer(self._clock.monotonic_ms())
            self.membership.take(answer, self.image.brokers.get(self.node_id))

    async def _await_stage(self, stage: Stage, timeout_ms: int, what: str) -> None:
        if not await self._await(
            lambda: self.membership.stage.value >= stage.value, timeout_ms
        ):
            raise self._late(what, timeout_ms)

    async def _await(
        self,
        is_there: Callable[[], bool],
        timeout_ms: int,
        *,
        though_failed: bool = False,
    ) -> bool:
        """Whether it is there before the time is over."""
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        timer = self._clock.call_later(timeout_ms, self._news.set)
        try:
            while not is_there():
                if self.failed.done() and not though_failed:
                    raise StartError(self.failed.result())
                if self._clock.monotonic_ms() >= deadline_ms:
                    return False
                self._news.clear()
                await self._news.wait()
            return True
        finally:
            timer.cancel()

    def _late(self, what: str, timeout_ms: int) -> StartError:
        why = self.membership.trouble or self._log.trouble
        why = why or "the controllers do not say why"
        return StartError(f"{what} after {timeout_ms} ms: {why}")

    def fail(self, reason: str) -> None:
        """Be one of the cluster no longer, for that reason."""
        if not self.failed.done():
            self.failed.set_result(reason)
        self._news.set()
        _logger.error("%s", reason)
