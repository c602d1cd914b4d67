"""Questions to the controller that leads, or to a broker, one after the other.

The client that commands use blocks: each channel has a thread of its own for it, so
that what one waits for keeps nobody else.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.client.errors import Unreachable
from odradek.protocol.errors import ErrorCode, KafkaError, RequestTimedOut

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.runtime.clock import Clock
    from odradek.client.address import Address
    from odradek.client.connection import Connection
    from odradek.protocol.schema import Request, Response

_Response = TypeVar("_Response", bound="Response")

_BACKOFF_MS: Final = 100


class Controllers(Protocol):
    """Who answers."""

    async def ask_controller(
        self, request: Request, response_class: type[_Response]
    ) -> _Response:
        """The answer of the controller that leads."""


class Registered(Controllers, Protocol):
    """The same, of a broker that they know."""

    @property
    def node_id(self) -> int:
        """The id of this broker."""

    @property
    def broker_epoch(self) -> int:
        """That of its registration."""


class ControllerChannel:
    """One connection, to whoever leads.

    ``api_versions`` are those of the last one who answered.
    """

    def __init__(
        self,
        name: str,
        leader: Callable[[], Address | None],
        connect: Callable[[Address], Connection],
        nobody: str = "nobody leads the quorum",
    ) -> None:
        """``nobody`` is what is said when there is no leader."""
        self._leader = leader
        self._connect = connect
        self._nobody = nobody
        self._threads = DiskThreads(1, name)
        self._known: tuple[Address, Connection] | None = None
        self.api_versions: Mapping[int, tuple[int, int]] = {}

    async def ask(
        self, request: Request, response_class: type[_Response], timeout_s: float
    ) -> _Response:
        """The answer of the controller that leads.

        Raises:
            OSError: nobody leads, or it does not answer.
            KafkaError, MalformedRequest: we do not understand each other.
        """
        return await self._threads.run(self._ask, request, response_class, timeout_s)

    async def ask_at_last(
        self,
        request: Request,
        response_class: type[_Response],
        timeout_s: float,
        clock: Clock,
    ) -> _Response:
        """The answer of the controller that leads, whoever that is by then.

        Raises:
            RequestTimedOut: there was none.
        """
        deadline_ms = clock.monotonic_ms() + int(timeout_s * 1000)
        while True:
            why = "none of them leads"
            try:
                answer = await self.ask(request, response_class, timeout_s)
                if not is_elsewhere(answer):
                    return answer
            except OSError as error:
                why = str(error) or repr(error)
            if clock.monotonic_ms() >= deadline_ms:
                raise RequestTimedOut(f"no controller has answered: {why}")
            await clock.sleep(_BACKOFF_MS)

    def drop_former_leader(self) -> None:
        """Have nobody wait for the answer of somebody who does not lead any more."""
        known = self._known
        if known is not None and known[0] != self._leader():
            known[1].hang_up()

    def close(self) -> None:
        """Hang up for good; nobody waits for what is still asked."""
        known = self._known
        if known is not None:
            with suppress(OSError):
                known[1].close()
        self._threads.close(waits=False)

    def _ask(
        self, request: Request, response_class: type[_Response], timeout_s: float
    ) -> _Response:
        leader = self._leader()
        if leader is None:
            raise Unreachable(self._nobody)
        try:
            connection = self._connected(leader)
            connection.wait_for(timeout_s)
            return connection.request(request, response_class)
        except BaseException:
            self._close()
            raise

    def _connected(self, address: Address) -> Connection:
        if self._known is None or self._known[0] != address:
            self._close()
            try:
                connection = self._connect(address)
            except KafkaError as error:  # it does not let us in
                raise Unreachable(f"{address}: {error}") from error
            self._known = address, connection
            self.api_versions = connection.api_versions
        return self._known[1]

    def _close(self) -> None:
        known, self._known = self._known, None
        if known is not None:
            known[1].close()


def is_elsewhere(answer: Response) -> bool:
    """Whether it is that of a controller that leads no more: another one knows."""
    parts = [answer, *getattr(answer, "topics", ())]
    codes = (getattr(each, "error_code", ErrorCode.NONE) for each in parts)
    return ErrorCode.NOT_CONTROLLER in codes
