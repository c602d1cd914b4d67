"""When a connection is too slow: in sending a request, in reading, in asking at all.

There are no timers. A sweep asks every now and then, and compares what it sees with
what it saw before; a deadline is kept to within the interval of the sweep.

Slow is nobody who gets on at ``connection.min.byte.rate``: a client on a bad link takes
as long as it needs. Only when others lack the memory that it holds it may not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig


class Deadlines:
    """What the sweeps have seen of one connection, and since when."""

    __slots__ = (
        "_frame_seen",
        "_frame_since_ms",
        "_idle_seen",
        "_idle_since_ms",
        "_options",
        "_pending_seen",
        "_pending_since_ms",
        "_unread_seen",
        "_unread_since_ms",
    )

    def __init__(self, options: BrokerConfig, now_ms: int) -> None:
        self._options = options
        self._frame_seen = -1
        self._frame_since_ms = self._pending_since_ms = now_ms
        self._pending_seen = 0
        self._unread_seen = -1
        self._unread_since_ms = now_ms
        self._idle_seen = 0
        self._idle_since_ms = now_ms

    def begin_anew(self, now_ms: int) -> None:
        """Let all of the client's time begin now."""
        self._frame_since_ms = self._pending_since_ms = now_ms
        self._unread_since_ms = self._idle_since_ms = now_ms

    def is_frame_late(
        self,
        now_ms: int,
        frame_count: int,
        pending: int,
        is_excused: bool,
        is_memory_full: bool,
    ) -> bool:
        """Whether the frame behind the ``frame_count`` whole ones comes too slowly.

        ``pending`` bytes of it are here. ``is_excused``: we did not read, the client
        could not help being slow. While memory is full no frame may take longer, as a
        whole, than one that gets on too slowly.
        """
        if self._frame_seen != frame_count or is_excused:
            self._frame_seen = frame_count
            self._frame_since_ms = self._pending_since_ms = now_ms
            self._pending_seen = pending
            return False
        limit_ms = self._options.request_arrival_timeout_ms
        if is_memory_full and now_ms - self._frame_since_ms >= limit_ms:
            return True
        if now_ms - self._pending_since_ms < limit_ms:
            return False
        came = pending - self._pending_seen
        is_late = self._is_too_slow(came, now_ms - self._pending_since_ms)
        self._pending_since_ms = now_ms
        self._pending_seen = pending
        return is_late

    def is_reader_stalled(
        self, now_ms: int, unread: int, is_memory_short: bool
    ) -> bool:
        """Whether the client has read nothing of ``unread`` bytes for too long.

        Or too little, while memory is short.
        """
        seen = self._unread_seen
        is_new = not 0 <= unread <= seen
        if is_new or (seen > unread and not is_memory_short):
            self._unread_seen = unread
            self._unread_since_ms = now_ms
            return False
        limit_ms = self._options.connection_unread_timeout_ms
        if now_ms - self._unread_since_ms < limit_ms:
            return False
        is_stalled = self._is_too_slow(seen - unread, now_ms - self._unread_since_ms)
        self._unread_seen = unread
        self._unread_since_ms = now_ms
        return is_stalled

    def forget_unread(self) -> None:
        """New answers wait to be read: their time begins."""
        self._unread_seen = -1

    def is_idle(self, now_ms: int, frame_count: int, is_busy: bool) -> bool:
        """Whether nothing was asked, and nothing under way, for too long."""
        if self._idle_seen != frame_count or is_busy:
            self._idle_seen = frame_count
            self._idle_since_ms = now_ms
            return False
        limit_ms = self._options.connections_max_idle_ms
        return now_ms - self._idle_since_ms >= limit_ms

    def _is_too_slow(self, size: int, duration_ms: int) -> bool:
        return size * 1000 < self._options.connection_min_byte_rate * duration_ms
