"""What a leader knows that we want of it: each request says only what is new (KIP-227).

The leader keeps what it was told, in a session: a request names the partitions that
are to be read from elsewhere, and those that are not to be read any more. It may keep
none; each request then names all.

Invariant: the leader is told what was wanted last of a partition, or the session ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .leader_requests import Asked

Place = tuple[bytes, int]  # topic id and partition

NO_SESSION: Final = 0
NEW_SESSION_EPOCH: Final = 0
_EPOCH_MAX: Final = (1 << 31) - 1


class SessionRequest(NamedTuple):
    """What of a request has to do with its session."""

    session_id: int
    epoch: int
    named: list[Asked]
    forgotten: list[Place]


class FetchSessionHandler:
    """``wanted``: all that is to be read, those first that have waited the longest."""

    def __init__(self) -> None:
        self.wanted: dict[Place, Asked] = {}
        self._session_id, self._epoch = NO_SESSION, NEW_SESSION_EPOCH
        self._changed: dict[Place, None] = {}
        self._forgotten: dict[Place, None] = {}

    @property
    def is_full(self) -> bool:
        """Whether the next request names all that is wanted."""
        return self._epoch == NEW_SESSION_EPOCH

    @property
    def has_left_out(self) -> bool:
        """Whether the leader is to be told of a partition that is not read any more."""
        return bool(self._forgotten)

    def want(self, place: Place, asked: Asked) -> None:
        """Read a partition from there on."""
        if self.wanted.get(place) == asked:
            return
        self.wanted.pop(place, None)
        self.wanted[place] = asked
        self._changed[place] = None
        self._forgotten.pop(place, None)

    def leave_out(self, place: Place) -> None:
        """Do not read a partition, for the time being."""
        if self.wanted.pop(place, None) is not None:
            self._changed.pop(place, None)
            self._forgotten[place] = None

    def next_request(self) -> SessionRequest:
        """What to say now. `took` or `lost` follows."""
        changed, self._changed = self._changed, {}
        forgotten, self._forgotten = self._forgotten, {}
        if self.is_full:
            named, forgotten = list(self.wanted.values()), {}
        else:
            named = [self.wanted[place] for place in changed]
        return SessionRequest(self._session_id, self._epoch, named, list(forgotten))

    def took(self, session_id: int) -> None:
        """The leader has answered; 0: it keeps no session."""
        self._session_id = session_id
        if session_id == NO_SESSION:
            self._epoch = NEW_SESSION_EPOCH
        else:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1

    def lost(self, *, is_known: bool = True) -> None:
        """There was no answer: begin anew. ``is_known``: it may have the old one."""
        self._epoch = NEW_SESSION_EPOCH
        if not is_known:
            self._session_id = NO_SESSION
