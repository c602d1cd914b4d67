"""A broker of a cluster: it follows the controllers' log, and tells them how it is.

Two things go on at once. One follows the metadata log in a thread, and has every new
image applied before it reads on. The other asks what the membership says, and so keeps
the broker in the cluster; it goes on while an image is applied.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import EMPTY
from odradek.broker.quorum.image.replay import NO_TIMESTAMP, Replay
from odradek.broker.quorum.observer import Identity as ObserverIdentity
from odradek.broker.quorum.observer import Observer
from odradek.broker.quorum.quorum_reader import QuorumReader
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import (
    InconsistentClusterId,
    KafkaError,
    MalformedRequest,
    RequestTimedOut,
)
from odradek.protocol.messages.alter_partition import AlterPartitionResponse
from odradek.protocol.messages.brokers import (
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

from .controller_channel import ControllerChannel, is_elsewhere
from .features import why_not_in
from .heartbeats import Heartbeats
from .membership import Membership, NotAdmitted, Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from odradek.broker.config.cluster_options import ClusterOptions
    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.client.address import Address
    from odradek.client.connection import Connection
    from odradek.protocol.messages.alter_partition import AlterPartitionRequest
    from odradek.protocol.schema import Request, Response

    from .membership import Identity

    Apply = Callable[[MetadataImage, MetadataImage], Awaitable[None]]

_Response = TypeVar("_Response", bound="Response")

_logger = logging.getLogger(__name__)

_FORWARDED_TIMEOUT_S: Final = 60.0
_ISR_TIMEOUT_S: Final = 10.0  # the same may be asked again: it is agreed to once
_BACKOFF_MS: Final = 100
_APPLY_AGAIN_MS: Final = 1_000
_APPLIED_TRIES: Final = 30  # then others had better do what this broker should


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
        self.image: MetadataImage = EMPTY
        self.applied_timestamp_ms = NO_TIMESTAMP  # of the last record of it
        self.membership = Membership(identity, options.heartbeat_interval_ms)
        self.heartbeats = Heartbeats(options.heartbeat_interval_ms)
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._options = options
        self._clock = clock
        self._bugs = bugs
        self._controllers = controllers
        # Nobody, until we know that no controller has our id: it would be taken for it.
        self._observer = Observer(
            controllers, Replay(), ObserverIdentity(cluster_id=identity.cluster_id)
        )
        self._reader = QuorumReader(self._observer, connect)
        self._reading = DiskThreads(1, "metadata log")
        self._beats = ControllerChannel("heartbeats", self._leader, connect)
        self._isr = ControllerChannel("in-sync replicas", self._leader, connect)
        self._requests = ControllerChannel("controller", self._leader, connect)
        self._applied = asyncio.Event()  # another one for each image
        self._woken = asyncio.Event()
        self._stage_changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._apply: Apply | None = None
        self.why_unread = ""  # why the metadata log is not read, if it is not
        self.why_stale = ""  # why the newest image is not applied, if it is not

    @property
    def node_id(self) -> int:
        """The id of this broker."""
        return self.membership.identity.node_id

    @property
    def broker_epoch(self) -> int:
        """That of the registration."""
        return self.membership.broker_epoch

    def _leader(self) -> Address | None:
        return self._observer.leader

    # Start

    async def join(self, apply: Apply) -> None:
        """Register, and return when everything that was decided before is applied.

        Raises:
            StartError: the cluster will not have us, or there is none; it says why.
        """
        self._apply = apply
        every = ", ".join(map(str, self._controllers))
        timeout_ms = self._options.registration_timeout_ms
        try:
            await self._reading.run(self._reader.catch_up, timeout_ms / 1000)
        except InconsistentClusterId as error:
            raise StartError(
                f"the controllers at {every} are of another cluster than"
                f" {self.membership.identity.cluster_id}, which is this broker's"
            ) from error
        except (OSError, KafkaError, MetadataLogError, MalformedRequest) as error:
            raise StartError(
                f"the controllers at {every} cannot be followed: {error}"
            ) from error
        image = self._observer.replay.image
        self._check(image)
        identity = self.membership.identity
        self._observer.identify(
            ObserverIdentity(
                identity.node_id, identity.directories[0], identity.cluster_id
            )
        )
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._beat(), name="heartbeats"))
        await self._await_stage(
            Stage.CATCHING_UP, timeout_ms, "the broker is not registered"
        )
        try:
            await self._take(image)
        except KafkaError as error:
            raise StartError(
                f"what the cluster has decided cannot be kept here: {error}"
            ) from error
        self._tasks.append(loop.create_task(self._follow(), name="metadata log"))
        await self._await_stage(
            Stage.RECOVERING, timeout_ms, "the broker does not catch up"
        )

    async def serve(self) -> None:
        """Let clients come: return when the controllers know that they may.

        Raises:
            StartError: they do not.
        """
        self.membership.become_ready()
        self._woken.set()
        timeout_ms = self._options.registration_timeout_ms
        await self._await_stage(Stage.SERVING, timeout_ms, "the broker stays fenced")

    async def leave(self) -> None:
        """Give what this broker leads to others, as far as there are some."""
        self.membership.leave()
        self._woken.set()
        with suppress(StartError):
            await self._await_stage(
                Stage.GONE, self._options.shutdown_timeout_ms, "nobody takes over"
            )

    async def close(self) -> None:
        """Follow nothing any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        for each in (self._beats, self._requests, self._isr):
            each.close()
        self._reading.submit(self._reader.close, lambda _, __: None)
        self._reading.close(waits=False)

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
        deadline_ms = self._clock.monotonic_ms() + int(_FORWARDED_TIMEOUT_S * 1000)
        while True:
            why = "none of them leads"
            try:
                answer = await self._requests.ask(
                    request, response_class, _FORWARDED_TIMEOUT_S
                )
                if not is_elsewhere(answer):
                    return answer
            except OSError as error:
                why = str(error) or repr(error)
            if self._clock.monotonic_ms() >= deadline_ms:
                raise RequestTimedOut(f"no controller has answered: {why}")
            await self._clock.sleep(_BACKOFF_MS)

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
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                while not is_there(self.image):
                    await self._applied.wait()
                return True
        return False

    def lose_directory(self, directory_id: bytes) -> None:
        """Let the controllers know that a log directory has failed."""
        self.membership.lose_directory(directory_id)
        self._woken.set()

    # The metadata log

    async def _follow(self) -> None:
        try:
            while True:
                await self._step()
                image = self._observer.replay.image
                if image is not self.image:
                    self._check(image)
                    await self._take_at_last(image)
        except (StartError, MetadataLogError, InconsistentClusterId) as error:
            self.fail(f"the metadata log cannot be followed: {error}")
        except Exception as error:  # else nobody would hear of it
            self._bugs.record("the metadata log", error)
            self.fail(f"the metadata log cannot be followed: {error!r}")

    async def _step(self) -> None:
        """Read on; what would have been in the way of joining may pass by now."""
        try:
            await self._reading.run(self._reader.step)
        except InconsistentClusterId:
            raise
        except (KafkaError, OSError, MalformedRequest) as error:
            self._observer.lost(str(error) or repr(error))
        if self._observer.leader is not None:
            for each in (self._beats, self._isr, self._requests):
                each.drop_former_leader()
        trouble = self._observer.trouble
        if trouble and not self.why_unread:
            _logger.warning("the metadata log is not read: %s", trouble)
        elif self.why_unread and not trouble:
            _logger.info("the metadata log is read again")
        self.why_unread = trouble

    async def _take_at_last(self, image: MetadataImage) -> None:
        """Apply an image, however often that fails, until it may fail for good.

        It is the same one each time: what is done of it already is not to be seen in
        the difference between the image before and a later one.
        """
        for _ in range(_APPLIED_TRIES):
            try:
                await self._take(image)
            except Exception as error:
                if not self.why_stale:
                    _logger.error("what was decided is not applied yet: %s", error)
                    if not isinstance(error, KafkaError):
                        self._bugs.record("what the controllers decided", error)
                self.why_stale = str(error) or repr(error)
            else:
                self.why_stale = ""
                return
            await self._clock.sleep(_APPLY_AGAIN_MS)
        why = self.why_stale
        raise StartError(f"what the cluster has decided cannot be applied: {why}")

    async def _take(self, image: MetadataImage) -> None:
        assert self._apply is not None
        before = self.image
        await self._apply(before, image)
        self.image = image
        self.applied_timestamp_ms = self._observer.replay.timestamp_ms
        self.membership.applied(image.offset)
        applied, self._applied = self._applied, asyncio.Event()
        applied.set()

    def _check(self, image: MetadataImage) -> None:
        """See that we fit the cluster."""
        leader = self._observer.leader or self._controllers[0]
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
                self._stage_changed.set()
        except NotAdmitted as error:
            self.fail(str(error))
        self._stage_changed.set()

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
        answer: BrokerRegistrationResponse | BrokerHeartbeatResponse
        timeout_s = self._options.request_timeout_ms / 1000
        try:
            if isinstance(request, BrokerRegistrationRequest):
                answer = await self._beats.ask(
                    request, BrokerRegistrationResponse, timeout_s
                )
            else:
                answer = await self._beats.ask(
                    request, BrokerHeartbeatResponse, timeout_s
                )
        except (OSError, KafkaError, MalformedRequest) as error:
            self.membership.lost(str(error))
        else:
            self.heartbeats.note_answer(self._clock.monotonic_ms())
            self.membership.take(answer, self.image.brokers.get(self.node_id))

    async def _await_stage(self, stage: Stage, timeout_ms: int, what: str) -> None:
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        timer = self._clock.call_later(timeout_ms, self._stage_changed.set)
        try:
            while self.membership.stage.value < stage.value:
                if self.failed.done():
                    raise StartError(self.failed.result())
                if self._clock.monotonic_ms() >= deadline_ms:
                    why = self.membership.trouble or "the controllers do not say why"
                    raise StartError(f"{what} after {timeout_ms} ms: {why}")
                self._stage_changed.clear()
                await self._stage_changed.wait()
        finally:
            timer.cancel()

    def fail(self, reason: str) -> None:
        """Be one of the cluster no longer, for that reason."""
        if not self.failed.done():
            self.failed.set_result(reason)
        self._stage_changed.set()
        _logger.error("%s", reason)
