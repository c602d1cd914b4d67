import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.load.attempt_registry import (
    AttemptRefused,
    AttemptRegistry,
    attempt_registry,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def registry() -> Iterator[AttemptRegistry]:
    with AttemptRegistry() as registry:
        yield registry


def test_the_first_attempt_of_each_task_may_send(registry: AttemptRegistry) -> None:
    asked = registry.begin()
    asked.register(0, 10)
    asked.register(1, 11)
    asked.register(0, 10)  # it asks again, because an answer was lost
    for task in 0, 1:
        with pytest.raises(AttemptRefused, match=f"attempt 12 of task {task}"):
            asked.register(task, 12)
    assert registry.registered == {0: 10, 1: 11}


def test_attempts_of_an_earlier_try_are_refused(registry: AttemptRegistry) -> None:
    first = registry.begin()
    first.register(0, 10)
    second = registry.begin()
    with pytest.raises(AttemptRefused):
        first.register(1, 11)
    with pytest.raises(AttemptRefused):
        first.register(0, 10)
    second.register(0, 20)
    registry.end()
    with pytest.raises(AttemptRefused):
        second.register(1, 21)


def test_a_stranger_is_refused_whatever_it_says(registry: AttemptRegistry) -> None:
    asked = registry.begin()
    with pytest.raises(AttemptRefused):
        asked._replace(token="guessed").register(0, 1)
    for line in b"", b"hello\n", b"[]\n", b'{"token": 1}\n', b"\xff\n":
        with socket.create_connection((asked.host, asked.port), 5) as stranger:
            stranger.sendall(line)
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(10) in (b"", b"no\n")
    assert registry.registered == {}
    asked.register(0, 1)


def test_nobody_answers_when_the_driver_is_gone() -> None:
    with AttemptRegistry() as registry:
        asked = registry.begin()
    with pytest.raises(OSError, match="refused"):
        asked.register(0, 1)


def test_an_address_before_the_one_that_listens() -> None:
    with AttemptRegistry("localhost", "127.0.0.1") as registry:
        asked = registry.begin()
        assert asked.host == "localhost"
        asked.register(0, 1)


class Session:
    """A session whose Spark has told its executors nothing."""

    def __init__(self) -> None:
        self.sparkContext = self

    def getConf(self) -> dict[str, str]:
        return {}


def test_a_port_that_a_firewall_lets_through() -> None:
    spark = cast("SparkSession", Session())
    with attempt_registry(spark) as registry:
        port = registry.begin().port
        with pytest.raises(JobError, match=f"cannot listen on 127.0.0.1:{port}: Addr"):
            attempt_registry(spark, f":{port}")
    with attempt_registry(spark, f"localhost:{port}") as registry:
        assert registry.begin()[:2] == ("localhost", port)
    with pytest.raises(JobError, match=r"198.51.100.7:0: .*--driver-address :7777"):
        attempt_registry(spark, "198.51.100.7")
