import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.testing import Broker
from odradek.testing.control import ask
from odradek.testing.errors import BrokerError, Refused


@contextmanager
def answering(directory: Path, *answers: Any) -> Iterator[list[Any]]:
    """A broker that is asked once, and says ``answers``."""
    asked: list[Any] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "admin.sock"))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rwb") as lines:
                asked.append(json.loads(lines.readline()))
                for each in answers:
                    is_raw = isinstance(each, bytes)
                    lines.write(each if is_raw else json.dumps(each).encode() + b"\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield asked
        finally:
            thread.join()


def test_items_come_until_it_is_done(tmp_path: Path) -> None:
    items = {"item": {"a": 1}}, {"item": {"b": "ü"}}
    with answering(tmp_path, *items, {"done": True}) as asked:
        assert list(ask(tmp_path, "state", topics=["t"])) == [{"a": 1}, {"b": "ü"}]
    assert asked == [{"request": "state", "topics": ["t"]}]


def test_a_refusal_is_raised(tmp_path: Path) -> None:
    refusal = {"error": "timeout", "message": "t has 1 of 2 records"}
    with (
        answering(tmp_path, refusal),
        pytest.raises(Refused, match="1 of 2") as caught,
    ):
        list(ask(tmp_path, "wait"))
    assert caught.value.word == "timeout"


def test_a_broker_that_ends_is_told(tmp_path: Path) -> None:
    with (
        answering(tmp_path, {"item": {}}),
        pytest.raises(BrokerError, match="ended before it had answered"),
    ):
        list(ask(tmp_path, "wait"))


def test_a_broker_that_ends_in_the_middle_of_a_line_is_told(tmp_path: Path) -> None:
    with answering(tmp_path, {"item": {"a": 1}}, b'{"item": {"a"'):
        items = ask(tmp_path, "wait")
        assert next(items) == {"a": 1}
        with pytest.raises(BrokerError, match="ended before it had answered"):
            next(items)


def test_a_broker_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match="does not answer: No such file"):
        list(ask(tmp_path, "state"))


def test_a_path_that_is_too_long_is_gone_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    deep = tmp_path / ("d" * 50) / ("e" * 50)
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("admin.sock")  # as the broker does
    with pytest.raises(BrokerError, match="Connection refused"):
        list(ask(deep, "state"))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def test_an_unknown_request_is_refused_with_the_nearest(broker: Broker) -> None:
    with pytest.raises(Refused, match=r"did you mean topics\.create") as refused:
        broker.ask("topics.creat")
    assert refused.value.word == "unknown-request"


def test_patched_sockets_are_not_in_the_way(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pytest-socket does it."""

    class Refusing(socket.socket):
        def __new__(cls, *arguments: object, **named: object) -> "Refusing":
            raise RuntimeError("a test tried to use a socket")

    monkeypatch.setattr(socket, "socket", Refusing)
    broker.topic("t").delete()
