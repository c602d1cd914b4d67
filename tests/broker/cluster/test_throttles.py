from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.cluster.copied_bytes import CopiedBytes
from odradek.broker.cluster.throttles import UNLIMITED, Throttle, make_throttles
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

US = 3
OPTION = "leader.replication.throttled.replicas"


class Topics:
    def __init__(self, text: str = "*") -> None:
        self.options = {OPTION: text}

    def get(self, name: str) -> Any:
        return SimpleNamespace(options=self.options) if name == "t" else None


def throttle(topics: Topics, rate: int, clock: FakeClock | None = None) -> Throttle:
    found: Any = topics
    made = Throttle(US, OPTION, found, clock or FakeClock(), CopiedBytes(None))
    made.follow(rate, 11, 1)
    return made


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("*", [0, 1, 2]),
        ("0:3,1:4, 2:3", [0, 2]),
        ("0:4", []),
        ("", []),
        ("nonsense,1:3", [1]),
    ],
)
def test_a_topic_names_its_replicas(text: str, named: list[int]) -> None:
    found = throttle(Topics(text), 1)
    assert [i for i in range(3) if found.names(TopicPartition("t", i))] == named
    assert not found.names(TopicPartition("gone", 0))


def test_without_a_rate_nothing_is_slowed_down() -> None:
    found = throttle(Topics(), UNLIMITED)
    found.record(1 << 40)
    assert (found.is_on, found.is_exceeded) == (False, False)
    assert not found.names(TopicPartition("t", 0))


def test_over_a_while_it_is_the_rate() -> None:
    clock = FakeClock()
    found = throttle(Topics(), 1_000, clock)
    assert not found.is_exceeded
    sent = 0
    for _ in range(1_000):  # 100 s, in parts of 2,500 bytes
        if not found.is_exceeded:
            found.record(2_500)
            sent += 2_500
        clock.advance(100)
    assert 95_000 <= sent <= 115_000


def test_much_at_once_is_forgotten_with_its_window() -> None:
    clock = FakeClock()
    found = throttle(Topics(), 1_000, clock)
    found.record(100_000)
    clock.advance(10_999)
    assert found.is_exceeded
    clock.advance(1)
    assert not found.is_exceeded


def test_options_of_brokers_say_how_much() -> None:
    made = make_throttles(US, Topics(), FakeClock())  # type: ignore[arg-type]
    made.follow(BrokerConfig(follower_replication_throttled_rate=7))
    assert not made.leader.is_on
    assert made.follower.rate_max == 7
