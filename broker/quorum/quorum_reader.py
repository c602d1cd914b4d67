"""Drives an observer with connections that block, for commands.

A controller that does not answer in `TIMEOUT_S` is given up, as a broker does it; then
another one is asked who leads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

from odradek.client.errors import NoAnswer, TlsFailed, Unreachable
from odradek.client.retry import BACKOFF_S
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.fetch_snapshot import FetchSnapshotResponse

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from odradek.client.address import Address
    from odradek.client.connection import Connection
    from odradek.protocol.schema import Request, Response

    from .observer import Observer, Question

_Response = TypeVar("_Response", bound="Response")

TIMEOUT_S: Final = 2.0


class QuorumReader:
    """Reads the metadata log of a quorum; blocking, for one thread."""

    def __init__(
        self,
        observer: Observer,
        connect: Callable[[Address], Connection],
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.observer = observer
        self._connect = connect
        self._monotonic = monotonic
        self._sleep = sleep
        self._known: tuple[Address, Connection] | None = None
        self._timeout_s = TIMEOUT_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        known, self._known = self._known, None
        if known is not None:
            known[1].close()

    def catch_up(self, timeout_s: float) -> None:
        """Read until everything that is committed is applied.

        Raises:
            NoAnswer, Unreachable: there was no leader in that time; it says why.
            MetadataLogError: the log cannot be followed.
            KafkaError: we are refused.
        """
        self._timeout_s = timeout_s
        deadline = self._monotonic() + timeout_s
        is_first = True
        while is_first or not self.observer.is_caught_up:
            if not is_first and self._monotonic() >= deadline:
                raise NoAnswer(self.observer.trouble or f"no answer in {timeout_s:g} s")
            self.step()
            is_first = False

    def step(self) -> None:
        """Ask one thing, and take the answer.

        Raises:
            As `catch_up`, but for the time.
        """
        question = self.observer.next_question()
        if question.is_retry:
            self._sleep(BACKOFF_S)
        try:
            response = self._ask(question)
        except (MalformedRequest, KafkaError):
            self.close()
            raise
        except OSError as error:
            self.close()
            if isinstance(error, TlsFailed) and not error.may_pass:
                raise
            self.observer.lost(f"{question.address}: {_reason(error)}")
        else:
            self.observer.take(question.address, response)

    def request_leader(
        self, request: Request, response_class: type[_Response]
    ) -> _Response:
        """The leader's answer, once it is known who leads.

        It may take as long as `catch_up` might: there is nobody else to ask.

        Raises:
            Unreachable: nobody does.
        """
        leader = self.observer.leader
        if leader is None:
            raise Unreachable(self.observer.trouble or "nobody leads the quorum")
        connection = self._connected(leader)
        connection.wait_for(self._timeout_s)
        return connection.request(request, response_class)

    def _ask(self, question: Question) -> FetchResponse | FetchSnapshotResponse:
        connection = self._connected(question.address)
        if isinstance(question.request, FetchRequest):
            return connection.request(question.request, FetchResponse)
        return connection.request(question.request, FetchSnapshotResponse)

    def _connected(self, address: Address) -> Connection:
        if self._known is None or self._known[0] != address:
            self.close()
            self._known = address, self._connect(address)
        return self._known[1]


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer in {TIMEOUT_S:g} s"
    return error.strerror or str(error)
