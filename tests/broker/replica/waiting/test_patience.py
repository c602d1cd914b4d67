from types import SimpleNamespace
from typing import Any

from odradek.broker.replica.waiting.patience import DISK_TIMEOUT_MS, append_timeout_ms

ALONE: Any = SimpleNamespace(replication=None)
REPLICATED: Any = SimpleNamespace(replication="some other broker")


def test_the_own_disk_gets_some_seconds() -> None:
    for timeout_ms in (-1, 0, 1, DISK_TIMEOUT_MS):
        assert append_timeout_ms(ALONE, timeout_ms) == DISK_TIMEOUT_MS


def test_a_client_may_have_more_patience() -> None:
    assert append_timeout_ms(ALONE, 30_000) == 30_000


def test_other_brokers_get_what_the_client_says() -> None:
    for timeout_ms in (-1, 0, 1, 30_000):
        assert append_timeout_ms(REPLICATED, timeout_ms) == timeout_ms
