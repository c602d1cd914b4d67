from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.replica.partition.durable_log_start import DurableLogStart
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import DiskFull


def test_it_only_rises() -> None:
    log_start = DurableLogStart()
    log_start.raise_to(7)
    log_start.raise_to(3)
    assert log_start.offset == 7


def test_while_it_may_still_become_durable_nothing_is_wrong() -> None:
    log: Any = SimpleNamespace(is_failed=False)
    DurableLogStart().check(log)
    DurableLogStart().check(None)


def test_a_failed_log_writes_it_no_more() -> None:
    log: Any = SimpleNamespace(is_failed=True)
    with pytest.raises(KafkaStorageError, match="the log has failed"):
        DurableLogStart().check(log)


def test_what_went_wrong_is_told_to_those_who_are_asked_then() -> None:
    log_start = DurableLogStart()
    with log_start.failing(DiskFull("no room")), pytest.raises(DiskFull):
        log_start.check(None)
    log_start.check(None)
