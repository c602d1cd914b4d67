"""The door of a listener with TLS: who has connected, and has to make a handshake.

Until the first bytes are here a client costs a socket and a few hundred bytes. They
are looked at before OpenSSL sees any: of who speaks something else the log says what
helps. A handshake takes most of a millisecond, in two steps: one is made as soon as its
client's bytes are there, and of those that then wait for the next turn of the loop as
many as are begun in the time that all others surely had since the last of these turns,
three milliseconds at most, but one always. So a crowd makes a neighbour wait for one of
them, and a busy broker lets clients in all the same. A key of
RSA-4096 signs in six milliseconds; a thread would free the loop of that as well: ECDSA,
a fortieth of a millisecond, does it better. How many may be at the door, and how long,
`pre_auth` says.

The loop watches the socket from the first moment to the end of the connection, which
takes the watch over: with uvloop, to begin and to end one is six system calls. Only who
waits for a turn is not watched meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.broker.security.certificates.certificate import subject_of
from odradek.broker.security.certificates.der import DerError

from .accepting import Acceptor
from .first_bytes import HELLO_SIZE_MAX, advice_for, hello_size, speaks_tls
from .ssl_object import server_side
from .transport import Ends, TlsTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.network.connection import Connection
    from odradek.broker.network.network import Network
    from odradek.broker.network.pre_auth import PreAuth
    from odradek.broker.security.certificates.context import ServerTls
    from odradek.broker.security.certificates.identity import Identity

    from .ssl_object import SslObject

STEPS_A_TURN: Final = 16
HANDSHAKES_MS_MAX: Final = 3
_USER: Final = "User:"


class Tls(NamedTuple):
    """What a listener with TLS needs: its certificate, and who may be at its door."""

    identity: Identity
    pre_auth: PreAuth


class Door:
    """Accepts the clients of one listener, and lets in who has made a handshake."""

    def __init__(
        self,
        network: Network,
        tls: Tls,
        make_connection: Callable[[], Connection],
    ) -> None:
        self.identity, self.pre_auth = tls
        self.network = network
        self.failed_count = 0
        self.loop = asyncio.get_running_loop()
        self._acceptor = Acceptor(network.log, network.clock, self._meet)
        self._make_connection = make_connection
        self._waiting: set[Handshake] = set()
        self._ready: deque[Handshake] = deque()
        self._has_made_one = False  # in this turn of the loop
        self._left_ms = 0  # when a turn of theirs was over

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """Those that listen."""
        return self._acceptor.sockets

    async def open(self, host: str | None, port: int, backlog: int) -> None:
        """Listen on every address that ``host`` has.

        Raises:
            OSError: one of them is taken, or none of this machine's.
        """
        await self._acceptor.open(host, port, backlog)

    def close(self) -> None:
        """Accept nobody any more, and send those away who are not in yet."""
        self._acceptor.close()
        for handshake in list(self._waiting):
            handshake.end()

    @property
    def waiting_count(self) -> int:
        """How many have connected and are not in yet."""
        return len(self._waiting)

    def add_ready(self, handshake: Handshake) -> None:
        """Something has come from this client: it goes on now, or when its turn comes.

        In each turn of the loop the first one goes on at once.
        """
        if self._has_made_one:
            handshake.wait()
            self._ready.append(handshake)
            return
        self._has_made_one = True
        self.loop.call_soon(self._shake_hands)
        handshake.go_on()
        self._left_ms = self.network.clock.monotonic_ms()

    def let_in(self, handshake: Handshake, made: SslObject, tls: ServerTls) -> None:
        """The handshake is made: from here on it is a connection like any other."""
        try:
            principal = self._principal_of(made, tls)
        except DerError as error:
            self.refuse(handshake, f"its certificate is not accepted: {error}")
            return
        sock = handshake.hand_over()
        self._leave(handshake)
        connection = self._make_connection()
        transport = TlsTransport(sock, made, connection, handshake.ends)
        transport.begin()
        if principal is not None:
            connection.info.become(_USER + principal)

    def refuse(self, handshake: Handshake, why: str) -> None:
        """Close the connection of who does not get in; one line says why."""
        host, port = handshake.ends.peer[:2]
        self.failed_count += 1
        self.network.log.warn_once(
            ("TLS", host, why), f"closing the connection from {host}:{port}: {why}"
        )
        handshake.end()

    def forget(self, handshake: Handshake) -> None:
        """It is gone and was not let in."""
        if handshake in self._waiting:
            self._leave(handshake)
            self.network.admission.release(handshake.ends.peer[0])

    def _leave(self, handshake: Handshake) -> None:
        self._waiting.discard(handshake)
        self.pre_auth.leave(handshake)

    def _principal_of(self, made: SslObject, tls: ServerTls) -> str | None:
        """Who the client is by its certificate; None: that does not say it.

        Raises:
            DerError: its name cannot be read, or no rule fits it.
        """
        encoded = None
        if not self.identity.options.listener.has_login:
            encoded = made.getpeercert(True)
        if encoded is None:
            return None
        name = subject_of(encoded)
        principal = tls.mapping.principal_of(name)
        if principal is None:
            raise DerError(f"no rule of ssl.principal.mapping.rules fits {name!r}")
        return principal

    def _meet(self, sock: socket.socket, peer: Any) -> None:
        refusal = self.network.admission.refusal(peer[0])
        if refusal is not None:
            limit, reason = refusal
            self.network.log.warn(f"connection from {peer[0]} refused: {reason}", limit)
            sock.close()
            return
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            now_ms = self.network.clock.monotonic_ms()
            ends = Ends(peer, sock.getsockname(), now_ms)
        except OSError:
            sock.close()
            self.network.admission.release(peer[0])
            return
        handshake = Handshake(self, sock, ends)
        self._waiting.add(handshake)
        self.pre_auth.enter(handshake, now_ms)
        handshake.begin()

    def _shake_hands(self) -> None:
        ready, clock = self._ready, self.network.clock
        self._has_made_one = bool(ready)
        if not ready:
            return
        now_ms = clock.monotonic_ms()
        others_ms = now_ms - self._left_ms - 1  # the clock counts whole ones
        end_ms = now_ms + min(others_ms, HANDSHAKES_MS_MAX)
        for _ in range(min(STEPS_A_TURN, len(ready))):
            ready.popleft().go_on()
            now_ms = clock.monotonic_ms()
            if now_ms >= end_ms:
                break
        self._left_ms = now_ms
        self.loop.call_soon(self._shake_hands)


class Handshake:
    """A client that is not in yet: `pre_auth` knows it as a stranger."""

    __slots__ = (
        "_awaited_size",
        "_door",
        "_fd",
        "_is_watched",
        "_is_writing",
        "_sock",
        "_ssl_object",
        "_tls",
        "ends",
    )

    def __init__(self, door: Door, sock: socket.socket, ends: Ends) -> None:
        self._door = door
        self._sock: socket.socket | None = sock
        self._fd = sock.fileno()
        self._tls: ServerTls | None = None
        self._ssl_object: SslObject | None = None
        self._is_watched = self._is_writing = False
        self._awaited_size = 0  # of a hello; 0: it was not waited for
        self.ends = ends

    def begin(self) -> None:
        """Wait for the first bytes."""
        self._watch(for_writing=False)

    def cut(self, why: str, limit: str) -> None:
        """Close at once: it has had its time, or others have come since."""
        del why  # not for want of a login
        line = f"cutting off {self.ends.peer[0]}: it has made no handshake of TLS"
        self._door.network.log.warn(line, limit)
        self.end()

    def end(self) -> None:
        """Close the connection, unless it is somebody else's by now."""
        sock, self._sock = self._sock, None
        if sock is not None:
            self._unwatch()
            self._ssl_object = None
            sock.close()
        self._door.forget(self)

    def go_on(self) -> None:
        """Take what has come, as far as it gets the handshake."""
        sock = self._sock
        if sock is None:
            return
        try:
            ssl_object = self._ssl_object or self._look(sock)
            if ssl_object is None:
                return
            ssl_object.do_handshake()
        except (ssl.SSLWantReadError, BlockingIOError, InterruptedError):
            self._watch(for_writing=False)
        except ssl.SSLWantWriteError:
            self._watch(for_writing=True)
        except ssl.SSLError as error:
            self._door.refuse(self, f"no handshake of TLS: {_in_words(error)}")
        except OSError:
            self.end()
        else:
            assert self._tls is not None
            self._door.let_in(self, ssl_object, self._tls)

    def wait(self) -> None:
        """Others are first: what has come has been seen."""
        self._unwatch()

    def hand_over(self) -> socket.socket:
        """The socket is the connection's, which watches it from here on."""
        if self._is_writing:
            self._unwatch()
        sock, self._sock = self._sock, None
        assert sock is not None
        return sock

    def _look(self, sock: socket.socket) -> SslObject | None:
        """TLS on the socket, if this is what its client wants."""
        beginning = sock.recv(HELLO_SIZE_MAX, socket.MSG_PEEK)
        if not beginning:
            self.end()
            return None
        if not speaks_tls(beginning):
            protocol = self._door.identity.options.listener.security_protocol
            self._door.refuse(self, advice_for(beginning, protocol))
            return None
        if self._lacks(sock, hello_size(beginning), len(beginning)):
            raise BlockingIOError
        self._tls = tls = self._door.identity.current
        self._ssl_object = made = server_side(tls.context, sock)
        return made

    def _lacks(self, sock: socket.socket, size: int, count: int) -> bool:
        """Whether the hello is not here yet; OpenSSL takes 40 KB for half of one.

        The system wakes us when all of it has come. If it does so before, the rest
        never comes, or this system does not wait: OpenSSL then sees for itself.
        """
        is_asked = size <= self._awaited_size
        if not is_asked and count < size:
            self._awaited_size = size
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
            return True
        if self._awaited_size:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        return False

    def _on_ready(self) -> None:
        if self._sock is not None:
            self._door.add_ready(self)

    def _watch(self, *, for_writing: bool) -> None:
        if self._is_watched and self._is_writing == for_writing:
            return
        self._unwatch()
        loop = self._door.loop
        self._is_watched, self._is_writing = True, for_writing
        if for_writing:
            loop.add_writer(self._fd, self._on_ready)
        else:
            loop.add_reader(self._fd, self._on_ready)

    def _unwatch(self) -> None:
        if not self._is_watched:
            return
        loop = self._door.loop
        if self._is_writing:
            loop.remove_writer(self._fd)
        else:
            loop.remove_reader(self._fd)
        self._is_watched = self._is_writing = False


_REASONS: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": (
        "it has shown no certificate, and ssl.client.auth=required here: set "
        "ssl.keystore.location in the client (ssl_certfile, ssl.certificate.location)"
    ),
    "UNSUPPORTED_PROTOCOL": "it wants a version of TLS that is not spoken here",
    "NO_SHARED_CIPHER": "it knows none of the cipher suites that are spoken here",
    "TLSV1_ALERT_UNKNOWN_CA": (
        "it does not trust the broker's certificate: name its CA in the client "
        "(ssl.truststore.location, ssl_cafile, ssl.ca.location)"
    ),
}
_REASONS_ALIKE: Final = {
    "SSLV3_ALERT_BAD_CERTIFICATE": "TLSV1_ALERT_UNKNOWN_CA",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "TLSV1_ALERT_UNKNOWN_CA",
}


def _in_words(error: ssl.SSLError) -> str:
    """Why a handshake has failed, with what helps."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLEOFError):
        return "the client has closed in the middle of it"
    reason = error.reason or str(error)
    return _REASONS.get(_REASONS_ALIKE.get(reason, reason), reason)
