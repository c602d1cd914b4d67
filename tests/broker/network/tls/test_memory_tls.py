"""What the transport counts on, besides what both ways of TLS do alike."""

import contextlib
import socket
import ssl
from collections.abc import Iterator

import pytest

from odradek.broker.network.tls.memory_tls import MemoryTls
from tests.broker.network.tls.test_ssl_object import Ends, shake_hands
from tests.broker.network.tls.words import client_context
from tests.certificates import server

BIG = bytes(16 << 10)


@pytest.fixture
def ends() -> Iterator[Ends]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server().certificate, server().key)
    context.num_tickets = 0
    sent, come = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context().wrap_bio(come, sent, server_hostname="localhost")
    sock, remote = socket.socketpair()
    with sock, remote:
        sock.setblocking(False)
        made = Ends(MemoryTls(context, sock), client, sent, come, sock, remote)
        shake_hands(made)
        yield made


def test_what_the_socket_does_not_take_is_written_again(ends: Ends) -> None:
    count = 0
    with contextlib.suppress(ssl.SSLWantWriteError):
        while ends.ours.write(BIG) == len(BIG):
            count += 1
    room = memoryview(bytearray(1))
    with pytest.raises(ssl.SSLWantReadError):  # that nobody reads is no matter
        ends.ours.read(1, room)
    ends.remote.setblocking(False)
    left = None
    while left != len(BIG):
        ends.come.write(ends.remote.recv(1 << 20))
        try:
            left = ends.ours.write(BIG)
        except ssl.SSLWantWriteError:
            continue
    ends.come.write(ends.remote.recv(1 << 20))
    got = b""
    while len(got) < (count + 1) * len(BIG):
        try:
            got += ends.client.read(1 << 20)
        except ssl.SSLWantReadError:
            ends.come.write(ends.remote.recv(1 << 20))
    assert got == BIG * (count + 1)


def test_the_socket_keeps_what_is_behind_a_record(ends: Ends) -> None:
    for text in (b"first", b"second"):
        ends.client.write(text)
    ends.flush()
    room = memoryview(bytearray(100))
    assert ends.ours.read(len(room), room) == 5
    assert ends.ours.pending() == 0
    assert ends.sock.recv(1, socket.MSG_PEEK)
    assert ends.ours.read(len(room), room) == 6


def test_a_record_may_come_byte_by_byte(ends: Ends) -> None:
    ends.client.write(b"x")
    room = memoryview(bytearray(1))
    for byte in ends.sent.read():
        with pytest.raises(ssl.SSLWantReadError):
            ends.ours.read(1, room)
        ends.remote.send(bytes([byte]))
    assert (ends.ours.read(1, room), room[0]) == (1, ord("x"))


def test_a_client_hears_why_it_does_not_get_in() -> None:
    sock, remote = socket.socketpair()
    with sock, remote:
        sock.setblocking(False)
        ours = MemoryTls(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), sock)  # no key
        out = ssl.MemoryBIO()
        client = client_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="x")
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        remote.sendall(out.read())
        with pytest.raises(ssl.SSLError, match=r"(?i)no.(shared.cipher|suitable)"):
            ours.do_handshake()
        assert remote.recv(100)[0] == 21  # an alert
