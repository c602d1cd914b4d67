"""What answers on the socket is what the test says."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.broker.cli.admin import admin_client
from odradek.broker.cli.admin.admin_client import AdminRefusal, ask, broker_addresses
from odradek.broker.operate.admin_address import admin_address
from odradek.client.address import Address
from tests.patience import PATIENCE_S

REQUESTS = (b'{"request": "x"}\n', b'{"request": "listeners"}\n')
Answering = Callable[[bytes], None]


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Answering]:
    """Somebody who answers the first request with these bytes, and hangs up."""
    threads: list[threading.Thread] = []

    def begin(answer: bytes) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(admin_address(tmp_path))
        server.listen()

        def serve() -> None:
            with server, server.accept()[0] as connection:
                assert connection.recv(1000) in REQUESTS
                connection.sendall(answer)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join()


def test_where_the_broker_listens(tmp_path: Path, answering: Answering) -> None:
    item = b'{"item": {"name": "A", "host": "127.0.0.1", "port": 41234}}\n'
    answering(item + b'{"done": true}\n')
    found = broker_addresses(tmp_path, PATIENCE_S)
    assert found == [Address("127.0.0.1", 41234)]


def asked(directory: Path) -> list[object]:
    return list(ask(directory, {"request": "x"}, timeout_s=PATIENCE_S))


def test_items_until_the_end(tmp_path: Path, answering: Answering) -> None:
    answering(b'{"item": {"a": 1}}\n{"item": {"a": 2}}\n{"done": true}\n{"item": 3}\n')
    assert asked(tmp_path) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'{"error": "w", "message": "no such topic"}\n', "no such topic"),
        (b'{"item": {}}\n', "the broker ended before it had answered"),
        (b'{"item"', "what answers there is not a broker, or a broken one"),
        (b"[1]\n", "what answers there is not a broker, or a broken one"),
        (b"HTTP/1.1 400 Bad Request\r\n", "what answers there is not a broker"),
    ],
)
def test_no_answer(
    tmp_path: Path, answering: Answering, answer: bytes, message: str
) -> None:
    answering(answer)
    with pytest.raises(AdminRefusal, match=message):
        asked(tmp_path)


def test_a_broker_that_is_lost_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broken pipe above all: the command would take it for that of its output."""
    ours, theirs = socket.socketpair()
    theirs.close()
    monkeypatch.setattr(admin_client, "_connected", lambda *_: ours)
    with pytest.raises(AdminRefusal, match=r"^the broker was lost: Broken pipe$"):
        asked(tmp_path)


def test_a_broker_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0.001)
    monkeypatch.setattr(admin_client, "_connected", lambda *_: ours)
    message = r"^the broker has not answered in 0\.001 seconds$"
    with theirs, pytest.raises(AdminRefusal, match=message):
        asked(tmp_path)


def test_no_data_directory(tmp_path: Path) -> None:
    with pytest.raises(AdminRefusal, match="none is not there; --data-dir says"):
        asked(tmp_path / "none")


def test_no_broker(tmp_path: Path) -> None:
    message = f"no broker is running on {tmp_path}; odradek serve --data-dir {tmp_path}"
    with pytest.raises(AdminRefusal, match=message):
        asked(tmp_path)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(admin_address(tmp_path))
    with pytest.raises(AdminRefusal, match=message):
        asked(tmp_path)


def test_a_broker_that_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.storage.fsck.lock_holder.lock_holder", lambda _: 77)
    with pytest.raises(AdminRefusal, match=r"process 77 is using .* No such file"):
        asked(tmp_path)
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with pytest.raises(AdminRefusal, match="AF_UNIX path too long; its log may say"):
        asked(deep)
