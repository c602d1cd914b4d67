"""What one connection holds of the memory that all connections share.

Its requests, as far as they have come, wait, or are handled by a coroutine; and its
answers that are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from odradek.broker.runtime.memory.answer_memory import FetchHolder
from odradek.broker.runtime.memory.limits import MemoryHolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.storage.files.files import Buffer

    from .network import Network


class Holder(MemoryHolder, FetchHolder, Protocol):
    """A connection, as far as it may have to wait for either memory."""


class HeldMemory:
    """Counts what a connection holds, and says in the log when that is too much."""

    __slots__ = ("_buffers", "_network", "_peer_host", "answers_size", "requests_size")

    def __init__(self, network: Network, peer_host: str) -> None:
        self._network = network
        self._peer_host = peer_host
        self._buffers: Sequence[Buffer] = ()
        self.requests_size = 0
        self.answers_size = 0

    def count_requests(self, size: int) -> None:
        """The requests take ``size`` bytes by now."""
        if size != self.requests_size:
            delta, self.requests_size = size - self.requests_size, size
            self._network.memory.change(delta)

    def must_wait(self, holder: MemoryHolder) -> bool:
        """Whether a half-received request may not go on."""
        must_wait = self._network.memory.must_wait(holder)
        if must_wait:
            self._network.log.warn(
                f"{self._peer_host} is not read until there is memory again for"
                " requests",
                "queued.max.request.bytes",
            )
        return must_wait

    def count_answers(self, size: int) -> None:
        """The answers that are not read take ``size`` bytes by now."""
        delta, self.answers_size = size - self.answers_size, size
        if not delta:
            return
        answers = self._network.answers
        answers.change(delta)
        if delta > 0 and answers.is_short:
            self._network.log.warn(
                f"{self._peer_host} leaves answers unread, and memory for them is"
                " short: those to fetches are smaller",
                "queued.max.response.bytes",
            )

    def hold(self, answers_size: int, buffers: Sequence[Buffer]) -> None:
        """Of the answers the transport has ``buffers``, and maybe others have them."""
        self.count_answers(answers_size)
        self.let_go()
        self._buffers = buffers
        self._network.answers.hold(buffers)

    def let_go(self) -> None:
        """All that the transport had has left."""
        buffers, self._buffers = self._buffers, ()
        self._network.answers.let_go(buffers)

    def wait_for_room(self, holder: FetchHolder) -> None:
        """Have a fetch go on when there is memory for its answer, if there is none."""
        answers = self._network.answers
        if answers.is_full:
            answers.wait(holder)
            self._network.log.warn(
                f"{self._peer_host} gets no records until there is memory again for"
                " answers",
                "queued.max.response.bytes",
            )

    def release(self, holder: Holder) -> None:
        """The connection is gone, and all of it with it."""
        self.count_requests(0)
        self._network.memory.leave(holder)
        self.let_go()
        self.count_answers(0)
        self._network.answers.leave(holder)
