"""When a connection is too slow: in sending a request, in reading, in asking at all.

There are no timers. A sweep asks every now and then, and compares what it sees with
what it saw before; a deadline is kept to within the interval of the sweep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config.broker_config import BrokerConfig


class Deadlines:
    """What the sweeps have seen of one connection, and since when."""

    __slots__ = (
        "_frame_seen",
        "_frame_since_ms",
        "_idle_seen",
        "_idle_since_ms",
        "_options",
        "_unread_seen",
        "_unread_since_ms",
    )

    def __init__(self, options: BrokerConfig, now_ms: int) -> None:
        self._options = options
        self._frame_seen = -1
        self._frame_since_ms = now_ms
        self._unread_seen = -1
        self._unread_since_ms = now_ms
        self._idle_seen = 0
        self._idle_since_ms = now_ms

    def is_frame_late(self, now_ms: int, frame_count: int, is_excused: bool) -> bool:
        """Whether the frame behind the ``frame_count`` whole ones takes too long.

        ``is_excused``: we did not read, the client could not help being slow.
        """
        if self._frame_seen != frame_count or is_excused:
            self._frame_seen = frame_count
            self._frame_since_ms = now_ms
            return False
        limit_ms = self._options.request_arrival_timeout_ms
        return now_ms - self._frame_since_ms >= limit_ms

    def is_reader_stalled(self, now_ms: int, unread: int) -> bool:
        """Whether the client has read nothing of ``unread`` bytes for too long."""
        if self._unread_seen != unread:
            self._unread_seen = unread
            self._unread_since_ms = now_ms
            return False
        limit_ms = self._options.connection_unread_timeout_ms
        return now_ms - self._unread_since_ms >= limit_ms

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
