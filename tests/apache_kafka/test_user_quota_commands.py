"""``odradek user`` and ``odradek quota`` on Apache Kafka."""

import io
import json
import sys
from typing import Any

import pytest

from odradek.broker.cli.main import main
from tests.apache_kafka.node import KafkaNode
from tests.client.live import wait_until

Captured = pytest.CaptureFixture[str]


class Ours:
    """Runs commands against that broker."""

    def __init__(self, address: str, captured: Captured) -> None:
        self._address = address
        self._captured = captured
        self.error = ""

    def __call__(self, *arguments: str, code: int = 0) -> list[Any]:
        """The objects that were printed."""
        given = [*arguments, "--json", "--bootstrap-server", self._address]
        assert main(given) == code
        captured = self._captured.readouterr()
        self.error = captured.err
        return [json.loads(line) for line in captured.out.splitlines()]

    def wait_for(self, expected: list[Any], *arguments: str) -> None:
        """Ask until the broker, too, has heard of what its controller has done."""
        wait_until(lambda: self(*arguments) == expected)


@pytest.fixture
def ours(lone_kafka: KafkaNode, capsys: Captured) -> Ours:
    return Ours(lone_kafka.address, capsys)


def test_users(ours: Ours, monkeypatch: pytest.MonkeyPatch) -> None:
    for mechanism in "SCRAM-SHA-256", "SCRAM-SHA-512":
        monkeypatch.setattr(sys, "stdin", io.StringIO("open sesame\n"))
        ours("user", "set", "alice", "--mechanism", mechanism)
    credentials = [
        {"mechanism": "SCRAM-SHA-256", "iterations": 4096},
        {"mechanism": "SCRAM-SHA-512", "iterations": 4096},
    ]
    ours.wait_for([{"user": "alice", "credentials": credentials}], "user", "list")
    monkeypatch.setattr(sys, "stdin", io.StringIO("x\n"))
    ours("user", "set", "alice", "--iterations", "1", code=1)
    assert "alice: UNACCEPTABLE_CREDENTIAL: " in ours.error
    assert len(ours("user", "remove", "alice")) == 2
    ours.wait_for([], "user", "list")
    ours("user", "describe", "alice", code=1)
    assert "alice: RESOURCE_NOT_FOUND: " in ours.error


def test_quotas(ours: Ours) -> None:
    alice = ("--user", "alice")
    ours("quota", "set", *alice, "producer_byte_rate=1000", "request_percentage=12.5")
    ours("quota", "set", *alice, "--client-id-default", "consumer_byte_rate=7")
    ours("quota", "set", *alice, "consumer_byte_rate=9", "--dry-run")
    expected = [
        {
            "entity": {"user": "alice"},
            "quotas": {"producer_byte_rate": 1000, "request_percentage": 12.5},
        },
        {
            "entity": {"user": "alice", "client-id": None},
            "quotas": {"consumer_byte_rate": 7},
        },
    ]
    ours.wait_for(expected, "quota", "list", *alice)
    ours("quota", "set", *alice, "no_such_rate=1", code=1)
    assert "user alice: INVALID_REQUEST: " in ours.error
    ours("quota", "remove", *alice, "producer_byte_rate")
    left = {"entity": {"user": "alice"}, "quotas": {"request_percentage": 12.5}}
    ours.wait_for([left], "quota", "describe", *alice)
    ours("quota", "remove", *alice)
    ours.wait_for([], "quota", "describe", *alice)
