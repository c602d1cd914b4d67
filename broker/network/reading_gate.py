"""Whether the socket of a client is read: the reasons not to, all in one place.

- ``BACKLOG``: frames wait that may not start yet.
- ``FULL``: too many requests wait for their answers, or the client leaves too many of
  its answers unread.
- ``MUTED``: the client has done more than its quota.
- ``MEMORY``: the broker's memory for requests is full, and a half-received one of
  this client is part of it.
- ``FINISHING``: nothing is to start any more.
- ``FROZEN``: a test has the broker stand still.

Invariant: the transport is paused while there is a reason, and only then. It is told
when the first one comes, and when the last one goes.
"""

from __future__ import annotations

from typing import Final, Protocol

# Bits of `ReadingGate.reasons`; an enum's own would cost ten times as much.
BACKLOG: Final = 1
FULL: Final = 2
MUTED: Final = 4
MEMORY: Final = 8
FINISHING: Final = 16
FROZEN: Final = 32
# For these nothing is started either, of what was read before.
BLOCKING: Final = FULL | MUTED | FROZEN


class ReadTransport(Protocol):
    """What of a transport the gate needs."""

    def pause_reading(self) -> None:
        """Receive nothing."""

    def resume_reading(self) -> None:
        """Receive again."""


class ReadingGate:
    """Shut for any reason, open when there is none. It begins open."""

    __slots__ = ("_transport", "reasons")

    def __init__(self, transport: ReadTransport) -> None:
        self._transport: ReadTransport | None = transport
        self.reasons = 0

    def is_shut_for(self, reasons: int) -> bool:
        """Whether one of these, maybe of several, is a reason now."""
        return self.reasons & reasons != 0

    def shut(self, reason: int) -> None:
        """Do not read, for this reason or for one more."""
        before = self.reasons
        self.reasons = before | reason
        if not before and self._transport is not None:
            self._transport.pause_reading()

    def pause_again(self) -> None:
        """Tell the transport once more, if there is a reason.

        That of uvloop reads on when it was told while it was being connected.
        """
        if self.reasons and self._transport is not None:
            self._transport.pause_reading()

    def open(self, reason: int) -> None:
        """This is no reason any more: read, if there is no other."""
        before = self.reasons
        self.reasons = before & ~reason
        if before and not self.reasons and self._transport is not None:
            self._transport.resume_reading()

    def let_go(self) -> None:
        """Tell the transport nothing any more: it is closed, or will be."""
        self._transport = None
