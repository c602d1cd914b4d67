"""Questions to the broker that leads, as fetchers have them.

Whoever waits for ``acks=all`` waits for two of them, so what each costs counts: a small
one is sent from the loop, and its answer read there once it has arrived. That saves
waking a thread and waiting for it, twice. A large answer is left to the thread, as is
all of a connection with TLS, of which the loop cannot see whether an answer is there.
Where one question follows from the answer to the one before, no task is woken either:
`converse`.

Invariants: there is one question at a time. The loop listens to no connection that the
thread may close.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from odradek.broker.cluster.controller_channel import ControllerChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.client.address import Address
    from odradek.client.connection import Connection
    from odradek.protocol.schema import Request, Response

_Response = TypeVar("_Response", bound="Response")


class LeaderChannel(ControllerChannel):
    """One connection to a broker that leads."""

    def __init__(
        self,
        name: str,
        leader: Callable[[], Address | None],
        connect: Callable[[Address], Connection],
        nobody: str = "nobody leads",
    ) -> None:
        """As `ControllerChannel`."""
        super().__init__(name, leader, connect, nobody)
        self._heard: int | None = None  # the descriptor to which the loop listens
        self._asked: Connection | None = None
        self._answered: asyncio.Future[memoryview | None] | None = None
        self._go_on: Callable[[memoryview], bytes | None] | None = None
        self._sent_s = 0.0  # when the last question was, of the loop's time
        self._late: asyncio.TimerHandle | None = None

    async def ask(
        self, request: Request, response_class: type[_Response], timeout_s: float
    ) -> _Response:
        """The answer of the broker that leads; the thread asks.

        Raises:
            OSError, KafkaError, MalformedRequest: as that of a `ControllerChannel`.
        """
        self._hear_no_more()
        return await super().ask(request, response_class, timeout_s)

    async def ask_briefly(
        self, request: Request, response_class: type[_Response], timeout_s: float
    ) -> _Response:
        """As `ask`, of a request that is small: the loop sends it.

        Raises:
            OSError, KafkaError, MalformedRequest: as `ask`.
        """
        connection = self.prompt()
        if connection is None:
            return await self.ask(request, response_class, timeout_s)
        try:
            connection.wait_for(timeout_s)
            version = connection.version_of(request)
            number = connection.send(request, version)
            frame = await self._answer(connection, timeout_s)
            if frame is not None:
                return connection.answer_in(frame, number, response_class, version)
            return await self._threads.run(
                connection.receive_answer, number, response_class, version
            )
        except BaseException:
            self._hear_no_more()
            self._close()
            raise

    def prompt(self) -> Connection | None:
        """The connection on which the loop can send; None: the thread has to."""
        known = self._known
        if known is None or known[0] != self._leader() or not known[1].is_prompt:
            return None
        return known[1]

    async def converse(
        self,
        connection: Connection,
        request: bytes,
        go_on: Callable[[memoryview], bytes | None],
        timeout_s: float,
    ) -> memoryview | None:
        """Send a request to who is `prompt`, and what ``go_on`` makes of each answer.

        It ends with the first of which that makes none; or with one that is large,
        which ``go_on`` has not seen, and is returned.

        Raises:
            OSError, KafkaError, MalformedRequest: as `ask`; and what ``go_on`` raises.
        """
        self._go_on = go_on
        try:
            connection.wait_for(timeout_s)
            connection.send_frame(request)
            if await self._answer(connection, timeout_s) is not None:
                return None
            return await self._threads.run(connection.receive_frame)
        except BaseException:
            self._hear_no_more()
            self._close()
            raise
        finally:
            self._go_on = None

    async def _answer(
        self, connection: Connection, timeout_s: float
    ) -> memoryview | None:
        """The answer to what was just sent; None: it is large, the thread reads on."""
        loop = asyncio.get_running_loop()
        self._asked = connection
        answered: asyncio.Future[memoryview | None] = loop.create_future()
        self._answered = answered
        self._sent_s = loop.time()
        if self._heard is None:
            self._heard = connection.fileno()
            loop.add_reader(self._heard, self._on_readable)
        self._wait_until(self._sent_s + timeout_s, answered, timeout_s)
        try:
            return await answered
        finally:
            if self._late is not None:
                self._late.cancel()
            self._asked = self._answered = self._late = None

    def close(self) -> None:
        """Hang up for good; nobody waits for what is still asked."""
        self._hear_no_more()
        super().close()

    def _hear_no_more(self) -> None:
        if self._heard is not None:
            asyncio.get_running_loop().remove_reader(self._heard)
            self._heard = None

    def _on_readable(self) -> None:
        """All of the answer is there, or a part of it, or the leader has closed."""
        connection, answered = self._asked, self._answered
        if connection is None or answered is None or answered.done():
            self._hear_no_more()  # nobody has asked: who asks next finds out
            return
        try:
            frame = connection.take_frame()
            if frame is not None and self._go_on is not None:
                request = self._go_on(frame)
                if request is not None:
                    connection.send_frame(request)
                    self._sent_s = asyncio.get_running_loop().time()
                    return
        except Exception as error:
            answered.set_exception(error)
            return
        if frame is None:  # the thread reads on
            self._hear_no_more()
        answered.set_result(frame)

    def _wait_until(
        self,
        due_s: float,
        answered: asyncio.Future[memoryview | None],
        timeout_s: float,
    ) -> None:
        self._late = asyncio.get_running_loop().call_at(
            due_s, self._be_late, answered, timeout_s
        )

    def _be_late(
        self, answered: asyncio.Future[memoryview | None], timeout_s: float
    ) -> None:
        if answered.done():
            return
        loop = asyncio.get_running_loop()
        due_s = self._sent_s + timeout_s
        if loop.time() < due_s:  # there have been answers since
            self._wait_until(due_s, answered, timeout_s)
        else:
            answered.set_exception(TimeoutError("no answer in time"))
