import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from odradek.broker.network.tls.memory_tls import MemoryTls
from odradek.broker.network.tls.ssl_object import SslObject, server_side
from tests.broker.network.tls.words import PublicContext, client_context
from tests.certificates import server


class Ends(NamedTuple):
    """A server's TLS, and its client, with the sockets that both have."""

    ours: SslObject
    client: ssl.SSLObject
    sent: ssl.MemoryBIO  # by the client
    come: ssl.MemoryBIO
    sock: socket.socket
    remote: socket.socket

    def flush(self) -> None:
        """What the client has said goes off."""
        self.remote.sendall(self.sent.read())


@pytest.fixture(params=[ssl.SSLContext, PublicContext])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    """By the way that the module `ssl` takes, and by the public one."""
    context = request.param(ssl.PROTOCOL_TLS_SERVER)
    holder = server()
    context.load_cert_chain(holder.certificate, holder.key)
    context.num_tickets = 0
    sent, come = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context().wrap_bio(come, sent, server_hostname="localhost")
    sock, remote = socket.socketpair()
    with sock, remote:
        sock.setblocking(False)
        made = Ends(server_side(context, sock), client, sent, come, sock, remote)
        shake_hands(made)
        yield made


def shake_hands(ends: Ends) -> None:
    with pytest.raises(ssl.SSLWantReadError):
        ends.ours.do_handshake()
    assert ends.ours.version() is None
    with pytest.raises(ssl.SSLWantReadError):
        ends.client.do_handshake()
    ends.flush()
    with pytest.raises(ssl.SSLWantReadError):  # for the client's part
        ends.ours.do_handshake()
    ends.come.write(ends.remote.recv(1 << 16))
    ends.client.do_handshake()
    ends.flush()
    ends.ours.do_handshake()


def test_a_python_without_the_private_way_takes_the_public_one() -> None:
    sock, remote = socket.socketpair()
    with sock, remote:
        context = PublicContext(ssl.PROTOCOL_TLS_SERVER)
        assert isinstance(server_side(context, sock), MemoryTls)
        usual = server_side(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), sock)
        assert not isinstance(usual, MemoryTls)


def test_what_is_asked_is_read_and_answered(ends: Ends) -> None:
    assert ends.ours.version() == "TLSv1.3"
    assert ends.ours.getpeercert(True) is None
    room = memoryview(bytearray(10))
    with pytest.raises(ssl.SSLWantReadError):
        ends.ours.read(len(room), room)
    ends.client.write(b"a question")
    ends.flush()
    assert ends.ours.read(2, room) == 2
    assert ends.ours.pending() == 8
    assert ends.ours.read(8, room[2:]) == 8
    assert room == b"a question"
    assert ends.ours.write(b"an answer") == 9
    ends.come.write(ends.remote.recv(1 << 16))
    assert ends.client.read() == b"an answer"


def test_an_end_with_a_goodbye_is_no_error(ends: Ends) -> None:
    with pytest.raises(ssl.SSLWantReadError):
        ends.client.unwrap()
    ends.flush()
    assert ends.ours.read(1, memoryview(bytearray(1))) == 0
    ends.ours.shutdown()
    ends.come.write(ends.remote.recv(1 << 16))
    ends.client.unwrap()


def test_an_end_without_one_is_seen(ends: Ends) -> None:
    """Where OpenSSL is told to take it for an end (Python does so), it is one."""
    ends.remote.close()
    with contextlib.suppress(ssl.SSLEOFError):
        assert ends.ours.read(1, memoryview(bytearray(1))) == 0


def test_a_connection_that_was_cut_is_an_error_of_the_system(ends: Ends) -> None:
    ends.remote.close()
    with pytest.raises(OSError, match=r"EOF|Broken pipe"):
        ends.ours.write(b"nobody is there")
