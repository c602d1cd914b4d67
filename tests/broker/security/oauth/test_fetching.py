import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from odradek.broker.security.oauth import fetching
from odradek.broker.security.oauth.fetching import NotFetched, fetch, in_thread
from tests.certificates import authority, server
from tests.patience import PATIENCE_S

Serve = Callable[[socket.socket], None]


def answer(body: bytes, head: str = "200 OK") -> Serve:
    """Answers what it is asked with ``body``."""

    def serve(connected: socket.socket) -> None:
        connected.recv(4096)
        length = f"Content-Length: {len(body)}\r\n\r\n"
        connected.sendall(f"HTTP/1.1 {head}\r\n{length}".encode() + body)

    return serve


@contextmanager
def listening(serve: Serve, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server for one client; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            with suppress(OSError), listener.accept()[0] as connected:
                if context is None:
                    serve(connected)
                else:
                    with context.wrap_socket(connected, server_side=True) as secured:
                        serve(secured)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def patiently_connected(address: tuple[str, int], *_: object) -> socket.socket:
    """Whose reads do not end by themselves while a test runs."""
    connected = socket.socket()
    connected.settimeout(PATIENCE_S)
    connected.connect(address)
    return connected


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a key.json"
    path.write_bytes(b"{}")
    assert fetch(path.as_uri(), None) == b"{}"
    with pytest.raises(NotFetched, match=r"gone: No such file"):
        fetch((tmp_path / "gone").as_uri(), None)
    path.write_bytes(bytes(fetching.SIZE_MAX + 1))
    with pytest.raises(NotFetched, match="more than 1 MiB"):
        fetch(path.as_uri(), None)


def test_a_server_is_asked() -> None:
    with listening(answer(b"{}")) as port:
        assert fetch(f"http://127.0.0.1:{port}/keys?x=1", None) == b"{}"


def test_a_handshake_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, and there is no end of them."""
    monkeypatch.setattr(fetching, "SECONDS_MAX", 0.2)
    monkeypatch.setattr(fetching.socket, "create_connection", patiently_connected)
    is_over = threading.Event()

    def drip(connected: socket.socket) -> None:
        connected.recv(4096)
        # A record of 16 KiB: only its end would say what is in it.
        for byte in (b"\x16\x03\x03\x40\x00", *[b"\x02"] * 16_000):
            connected.sendall(byte)
            if is_over.wait(0.02):
                break

    with listening(drip) as port:
        try:
            with pytest.raises(NotFetched):
                fetch(f"https://127.0.0.1:{port}/", ssl.create_default_context())
        finally:
            is_over.set()


def test_a_server_of_https_shows_a_certificate_that_is_trusted() -> None:
    holder = server()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(holder.certificate, holder.key)
    trusting = ssl.create_default_context(cafile=str(authority().certificate))
    with listening(answer(b"{}"), context) as port:
        assert fetch(f"https://127.0.0.1:{port}/", trusting) == b"{}"
    nobody = ssl.create_default_context()
    with (
        listening(answer(b"{}"), context) as port,
        pytest.raises(NotFetched, match="certificate verify failed"),
    ):
        fetch(f"https://127.0.0.1:{port}/", nobody)


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        (answer(b"", "302 Found\r\nLocation: http://127.0.0.1:1/"), "answer is 302"),
        (answer(b"", "500 Oh"), "answer is 500"),
        (answer(bytes(fetching.SIZE_MAX + 1)), "more than 1 MiB"),
        (lambda connected: connected.sendall(b"nonsense\r\n"), "nonsense"),
        (lambda connected: None, "[Cc]onnection|closed"),
    ],
)
def test_what_is_no_answer_is_refused(serve: Serve, why: str) -> None:
    with listening(serve) as port, pytest.raises(NotFetched, match=why):
        fetch(f"http://127.0.0.1:{port}/", None)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotFetched, match="refused"):
        fetch(f"http://127.0.0.1:{port}/", None)


def drip(first: bytes, drop: bytes = b"x") -> Serve:
    """Sends ``first``, and then a drop sooner than any timeout of one read."""

    def serve(connected: socket.socket) -> None:
        connected.sendall(first)
        while True:
            time.sleep(0.02)
            connected.sendall(drop)

    return serve


# A record of TLS that wants more and more; 0x16 is a handshake.
HELLO = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"


@pytest.mark.parametrize(
    ("scheme", "serve"),
    [
        ("http", drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")),
        ("http", drip(b"HTTP/1.1 ")),
        ("http", drip(b"HTTP/1.1 200 OK\r\nA: ")),
        ("http", drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
        ("https", drip(HELLO)),
        ("https", lambda connected: connected.recv(1 << 20, socket.MSG_WAITALL)),
    ],
)
def test_what_drips_is_cut_off(
    scheme: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SECONDS_MAX", 0.2)
    why = r"it took more than 0.2 s|timed out"
    context = ssl.create_default_context() if scheme == "https" else None
    with listening(serve) as port, pytest.raises(NotFetched, match=why):
        fetch(f"{scheme}://127.0.0.1:{port}/", context)


async def test_a_thread_tells_the_loop() -> None:
    told: asyncio.Queue[tuple[object, object, object]] = asyncio.Queue()
    loop_thread = threading.current_thread()

    def note(result: object, error: object) -> None:
        told.put_nowait((result, error, threading.current_thread()))

    in_thread(lambda: 7, note)
    assert await told.get() == (7, None, loop_thread)
    in_thread(lambda: 1 / 0, note)
    result, error, _ = await told.get()
    assert result is None
    assert isinstance(error, ZeroDivisionError)
