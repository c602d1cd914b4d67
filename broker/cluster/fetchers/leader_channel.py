"""Questions to the broker that leads, as fetchers have them.

Whoever waits for ``acks=all`` waits for two of them, so what each costs counts: a small
one is sent from the loop, and its answer read there once it has arrived. That saves
waking a thread and waiting for it, twice. A large answer is left to the thread, as is
all of a connection with TLS, of which the loop cannot see whether an answer is there.

Invariants: there is one question at a time. The loop listens to no connection that the
thread may close.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

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
        self._asked: tuple[Connection, int, type[Response], int] | None = None
        self._answered: asyncio.Future[Any] | None = None

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
        address, known = self._leader(), self._known
        if known is None or known[0] != address or not known[1].is_prompt:
            return await self.ask(request, response_class, timeout_s)
        connection = known[1]
        loop = asyncio.get_running_loop()
        try:
            connection.wait_for(timeout_s)
            version = connection.version_of(request)
            number = connection.send(request, version)
            self._asked = connection, number, response_class, version
            self._answered = answered = loop.create_future()
            if self._heard is None:
                self._heard = connection.fileno()
                loop.add_reader(self._heard, self._on_readable)
            late = loop.call_later(timeout_s, _be_late, answered)
            try:
                response: _Response | None = await answered
            finally:
                late.cancel()
                self._asked = self._answered = None
            if response is not None:
                return response
            return await self._threads.run(
                connection.receive_answer, number, response_class, version
            )
        except BaseException:
            self._hear_no_more()
            self._close()
            raise

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
        asked, answered = self._asked, self._answered
        if asked is None or answered is None or answered.done():
            self._hear_no_more()  # nobody has asked: who asks next finds out
            return
        connection, number, response_class, version = asked
        try:
            response = connection.take_answer(number, response_class, version)
        except Exception as error:
            answered.set_exception(error)
            return
        if response is None:  # the thread reads on
            self._hear_no_more()
        answered.set_result(response)


def _be_late(answered: asyncio.Future[Any]) -> None:
    if not answered.done():
        answered.set_exception(TimeoutError("no answer in time"))
