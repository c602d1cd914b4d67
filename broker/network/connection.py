"""One client's connection: bytes in, requests started, answers out, limits kept.

Requests are started in the order in which they came. A handler that returns a
coroutine blocks the ones behind it; one that returns a future does not, only its
answer keeps its place. Frames that may not start yet wait in the backlog, and
while there is one nothing is read. A fetch, and a handshake, does not start before the
answers in front of it have left, nor while the broker's memory for answers is full.
When the socket is not read, `reading_gate` says.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.dispatch import starts_alone
from odradek.broker.runtime.memory.answer_memory import UNCOUNTED_SIZE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.framing import FrameReader

from .backlog import Backlog
from .deadlines import Deadlines
from .held_memory import HeldMemory
from .reading_gate import BACKLOG, BLOCKING, FINISHING, FULL, MEMORY, MUTED, ReadingGate
from .response_queue import ResponseQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.requests.dispatch import Exchange

    from .busy_poll import AtOnce, BusyPoll
    from .listener import Listener

    Dispatch = Callable[[ConnectionInfo, memoryview], Exchange | bytes]


_request_log = logging.getLogger("odradek.requests")
# How long who was told that this is no place for it may take to close.
_LINGER_MS = 1000


class Connection(asyncio.BufferedProtocol):
    """The protocol object that the event loop calls for one socket."""

    __slots__ = (
        "_backlog",
        "_busy_poll",
        "_dispatch",
        "_frame_count",
        "_is_blocked",
        "_is_closed",
        "_listener",
        "_memory",
        "_network",
        "_reader",
        "_responses",
        "_task",
        "_task_size",
        "_transport",
        "deadlines",
        "gate",
        "info",
    )

    info: ConnectionInfo
    gate: ReadingGate
    _dispatch: Dispatch
    _memory: HeldMemory
    _transport: asyncio.Transport
    _responses: ResponseQueue

    def __init__(self, listener: Listener) -> None:
        network = listener.network
        self._listener = listener
        self._network = network
        self._busy_poll: BusyPoll | AtOnce | None = network.busy_poll
        self._reader = FrameReader(
            network.options.socket_request_max_bytes,
            network.chunk,
            network.memory.has_room,
        )
        self._backlog = Backlog()
        self._task: asyncio.Task[Any] | None = None
        self._task_size = self._frame_count = 0
        self.deadlines = Deadlines(network.options, network.clock.monotonic_ms())
        # Set once the client is let in; until then nothing is served.
        self._is_closed = self._is_blocked = True

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the client in, or close at once."""
        if TYPE_CHECKING:  # uvloop's are no subclass
            assert isinstance(transport, asyncio.Transport)
        self._transport, network = transport, self._network
        peer = transport.get_extra_info("peername") or ("unknown", 0)
        if not self._listener.admits(peer[0]):
            transport.abort()
            return
        own = transport.get_extra_info("sockname") or ("", 0)
        name = self._listener.name
        self.info = ConnectionInfo.of(name, own, peer, self.finish, self.mute)
        self.gate = ReadingGate(transport)
        self._memory = HeldMemory(network, peer[0])
        self._responses = ResponseQueue(
            transport,
            network.dispatcher.failure,
            self._go_on,
            self._refuse,
            self._listener.catch_up,
        )
        unread_max = network.options.connection_unread_max_bytes
        transport.set_write_buffer_limits(min(UNCOUNTED_SIZE, unread_max), 0)
        self._is_closed = self._is_blocked = False
        # Not before: the loop calls this in a turn after it has made the connection,
        # and layers that come in between find only those that the listener knows.
        self._dispatch = network.dispatcher.entry
        if _request_log.isEnabledFor(logging.DEBUG):
            from odradek.broker.requests.request_log import LoggedDispatch

            self._dispatch = LoggedDispatch(network.dispatcher).dispatch
        self._listener.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Start the requests that are complete now."""
        reader = self._reader
        try:
            frames = reader.received(nbytes)
            if frames:
                self._frame_count += len(frames)
                self._serve(frames)
                if reader.pending:
                    reader.received(0)  # raises when no request can follow
        except MalformedRequest as error:
            self._refuse(error)
            return
        if reader.pending or self._memory.requests_size:
            self._account()

    def pause_writing(self) -> None:
        """The client does not read as fast as we write: more answers wait here."""
        self.deadlines.forget_unread()
        buffers = self._responses.hold(self._transport.get_write_buffer_size())
        self._memory.hold(self._responses.unread_size, buffers)
        self._listener.watch(self)
        if self._is_full():
            self.stop_starting(FULL)

    def resume_writing(self) -> None:
        """All of it has left."""
        self._memory.let_go()
        self._responses.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything; a handler that still runs ends for nobody."""
        if not hasattr(self, "info"):
            return  # was never let in
        self._is_closed = self._is_blocked = True
        self._listener.remove(self)
        self._network.admission.release(self.info.peer_host)
        self.gate.let_go()
        self._responses.close()
        self._backlog.clear()
        self._reader.close()
        self._memory.release(self)
        # Nothing of it refers to itself any more: it is freed with its last user.
        self.info.forget_connection()
        del self._transport

    # What the listener and the handlers call.

    def finish(self) -> None:
        """Start nothing more, and close once the answers under way are sent."""
        self.stop_starting(FINISHING)
        # Not here and now: the handler that calls this has yet to give its answer.
        asyncio.get_running_loop().call_soon(self._close_if_finished)

    def mute(self, wait_ms: int) -> None:
        """Start nothing and read nothing for a while: the client does too much."""
        if self._is_closed or self.gate.is_shut_for(MUTED):
            return
        self.stop_starting(MUTED)
        self._network.clock.call_later(wait_ms, lambda: self.start_again(MUTED))

    def stop_starting(self, reason: int) -> None:
        """Start nothing and read nothing, for this reason or for one more."""
        self._is_blocked = True
        self.gate.shut(reason)

    def start_again(self, reason: int) -> None:
        """Start and read again, if there is no other reason not to."""
        self.gate.open(reason)
        self._go_on()

    def dispatch_by(self, old: Dispatch, new: Dispatch) -> None:
        """Give requests to ``new``, if until now ``old`` got them."""
        if self._dispatch == old:
            self._dispatch = new

    def abort(self) -> None:
        """Close at once; answers that have not left are lost."""
        self._transport.abort()

    def memory_freed(self) -> None:
        """Read on: there is memory for requests again."""
        self.gate.open(MEMORY)

    def room_made(self) -> None:
        """Start the fetch that has waited for memory."""
        self._go_on()

    def check_deadlines(self, now_ms: int) -> bool:
        """Cut the client off when it is too slow.

        Returns whether it has to be looked at again: a frame is half received, or
        answers wait to be read.
        """
        pending, network = self._reader.pending, self._network
        has_unread = self._responses.is_held or self._transport.is_closing()
        # When it is for want of memory that we do not read, the half-received
        # frames are what fills the memory, and no excuse.
        gate = self.gate
        is_excused = gate.reasons != 0 and not gate.is_shut_for(MEMORY)
        if pending and self.deadlines.is_frame_late(
            now_ms, self._frame_count, pending, is_excused, network.memory.is_full
        ):
            self._cut("a request took too long to arrive", "request.arrival.timeout.ms")
            return False
        unread = self._transport.get_write_buffer_size()
        if has_unread and self.deadlines.is_reader_stalled(
            now_ms, unread, network.answers.is_short
        ):
            self._cut("its answers are not read", "connection.unread.timeout.ms")
            return False
        return pending > 0 or has_unread

    def check_idle(self, now_ms: int) -> None:
        """Close when nothing was asked for the time of ``connections.max.idle.ms``."""
        is_busy = self._responses.count > 0
        if self.deadlines.is_idle(now_ms, self._frame_count, is_busy):
            self.finish()

    # Starting requests.

    def _serve(self, frames: Iterable[memoryview]) -> None:
        """Start the requests in ``frames``; from where it may not go on, keep them."""
        dispatch, info = self._dispatch, self.info
        responses = self._responses
        waiting = responses.waiting
        answers = self._network.answers
        for frame in frames:
            if self._is_blocked or (
                (waiting or responses.is_held or answers.is_full)
                and starts_alone(frame)
            ):
                self._is_blocked = True
                self._backlog.add(frame)
                continue
            exchange = dispatch(info, frame)
            if isinstance(exchange, bytes):  # all of the answer
                responses.add_frame(exchange)
            else:
                route, correlation_id, answer, request = exchange
                kind = type(answer)
                if isinstance(answer, Parked):
                    # The request is not kept: it would hold the memory of its records.
                    responses.park(route, correlation_id, answer, len(frame))
                elif kind is bytes or kind is list or kind is route.response_class:
                    responses.add_ready(route, correlation_id, answer, request)
                else:
                    self._wait_for(exchange, len(frame))
            if waiting and self._is_full():
                self.stop_starting(FULL)
        responses.flush_soon(self._busy_poll)
        if self._busy_poll is not None and not waiting:
            self._busy_poll.note_answered()
        if responses.unread_size:
            self._memory.count_answers(responses.unread_size)
        if self._backlog.size:
            self._account()
            self._memory.wait_for_room(self)
            self.gate.shut(BACKLOG)

    def _wait_for(self, exchange: Exchange, size: int) -> None:
        """Queue an answer that comes from somewhere else."""
        route, correlation_id, answer, request = exchange
        if inspect.iscoroutine(answer):
            task = self._listener.start_task(answer, route.name)
            self._responses.add(route, correlation_id, task, request, size)
            # After the queue's own callback, which brings it the answer.
            task.add_done_callback(self._task_ended)
            self._task, self._task_size = task, size
            self._is_blocked = True
            self._account()
            return
        self._responses.add(route, correlation_id, answer, None, size)

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._task, self._task_size = None, 0
        # The answer goes out before the next request is started.
        self._responses.catch_up()

    def _go_on(self) -> None:
        """Start what waits in the backlog, if nothing stands in its way any more."""
        responses = self._responses
        if self._busy_poll is not None and not responses.waiting:
            self._busy_poll.note_answered()
        if responses.unread_size != self._memory.answers_size:
            self._memory.count_answers(responses.unread_size)
        if not self._is_blocked or self._is_closed:
            return  # mostly: nothing has had to wait
        gate = self.gate
        if gate.is_shut_for(FINISHING):
            self._close_if_finished()
            return
        if self._is_full():
            gate.shut(FULL)
        else:
            gate.open(FULL)
        self._is_blocked = self._task is not None or gate.is_shut_for(BLOCKING)
        if self._backlog.size and not self._is_blocked:
            try:
                self._serve(self._backlog.take())
            except MalformedRequest as error:
                self._refuse(error)
                return
        if self._memory.requests_size:
            self._account()
        if not self._backlog.size:
            gate.open(BACKLOG)

    def _is_full(self) -> bool:
        """Whether as much waits for its turn as may."""
        options = self._network.options
        responses = self._responses
        return (
            len(responses.waiting) >= options.queued_max_requests
            or responses.parked_size >= options.connection_parked_max_bytes
            or responses.unread_size >= options.connection_unread_max_bytes
            or (responses.unread_size > 0 and self._network.answers.is_full)
        )

    # Memory, and the end.

    def _account(self) -> None:
        """Tell the shared memory what requests of this connection take of it."""
        if self._is_closed:
            return
        reader, memory = self._reader, self._memory
        memory.count_requests(reader.held + self._backlog.size + self._task_size)
        if not reader.pending:
            self._network.memory.leave(self)
            return
        self._listener.watch(self)
        if not self.gate.is_shut_for(MEMORY) and memory.must_wait(self):
            self.gate.shut(MEMORY)

    def _refuse(self, error: MalformedRequest) -> None:
        """The client does not speak the protocol: say so in the log, and close."""
        if self._is_closed:
            return
        from .strangers import farewell  # rarely needed

        beginning = b"" if self._frame_count else self._reader.refused
        answer = farewell(self._network, self.info, error, beginning)
        if not answer:
            self._close()
            return
        # It would be lost if we closed now: with bytes unread, that is a reset.
        self._is_closed = self._is_blocked = True
        self.gate.let_go()
        self._reader.close()
        self._transport.write(answer)
        self._transport.write_eof()
        self._network.clock.call_later(_LINGER_MS, self._transport.abort)

    def _close_if_finished(self) -> None:
        if not self._is_closed and not self._responses.count and not self._task:
            self._close()

    def _close(self) -> None:
        """Send what is encoded, then close."""
        self._responses.flush()
        self._is_closed = self._is_blocked = True
        self.gate.let_go()
        self._listener.watch(self)
        self._transport.close()

    def _cut(self, why: str, limit: str) -> None:
        self._network.log.warn(f"cutting off {self.info.peer_host}: {why}", limit)
        self.abort()
