"""A member's heartbeats: sent beside its work, which may take its time.

A thread with a connection of its own. It never decides anything: what a coordinator
answers besides "stay" is kept for the thread that the member belongs to.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .connection import Connection

_END_S = 1.0  # for a beat that is on its way; the thread does not keep a process alive


class Session(NamedTuple):
    """A member in one generation of its group, and the coordinator's node id."""

    node_id: int
    group_id: str
    generation_id: int
    member_id: str

    def request(self) -> HeartbeatRequest:
        """What says that the member is alive."""
        return HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
        )


class Heartbeats:
    """Beats for the session that `beat_for` named, until there is trouble."""

    def __init__(self, connect: Callable[[int], Connection], interval_s: float) -> None:
        """``connect`` is called in the thread, with the node id of a coordinator."""
        self._connect = connect
        self._interval_s = interval_s
        self._session: Session | None = None
        self._trouble: tuple[Session, Exception] | None = None
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def beat_for(self, session: Session | None) -> None:
        """Beat for this session from now on; None for a member that is joining."""
        self._session = session
        if session is not None and self._thread is None:
            thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)
            thread.start()
            self._thread = thread  # one that an interrupt kept from starting has no end

    def trouble(self) -> Exception | None:
        """What went wrong with the session of now; it is told once."""
        found, self._trouble = self._trouble, None
        return found[1] if found is not None and found[0] is self._session else None

    def stop(self) -> None:
        """Beat no more."""
        self._session = None
        self._is_over.set()
        if self._thread is not None:
            self._thread.join(_END_S)

    def _run(self) -> None:
        # The kernel may give a signal of the process to any thread that takes it, and
        # the main thread would go on waiting.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        connection: Connection | None = None
        connected_to = -1
        while not self._is_over.wait(self._interval_s):
            session = self._session
            if session is None:
                continue
            try:
                if connection is None or connected_to != session.node_id:
                    if connection is not None:
                        connection.close()
                    connection = None  # in case that there will be none
                    connection = self._connect(session.node_id)
                    connected_to = session.node_id
                answer = connection.request(session.request(), HeartbeatResponse)
                raise_for(answer.error_code)
            except Exception as error:
                # Whatever it is: the member's own thread asks again, and finds out.
                self._trouble = session, error
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()
