"""What a sync of a log makes durable, and what it says."""

import logging

import pytest

from tests.storage.logs import (
    new_log,
    produce,
    sync,
)


def test_a_sync_says_up_to_where_when_somebody_wants_to_know(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = new_log()
    produce(log, 2)
    with caplog.at_level(logging.DEBUG, "odradek.storage.log.syncing"):
        sync(log)
    (line,) = caplog.messages
    assert line == "[topic-0 in /data] flushed up to offset 2, durable up to 0"


def test_flush_makes_everything_durable() -> None:
    log = new_log()
    produce(log, 3)
    assert log.unflushed_count == 3
    log.flush()
    assert (log.unflushed_count, log.recovery_point) == (0, 3)


def test_a_sync_makes_durable_what_was_there_when_it_began() -> None:
    log = new_log()
    produce(log, 3)
    ticket = log.syncing.begin()
    assert ticket is not None
    produce(log, 3)
    assert log.recovery_point == 0
    ticket.run()
    log.syncing.finish(ticket)
    assert log.recovery_point == 3
    assert log.durable_end.offset == 3


def test_a_durable_log_needs_no_sync() -> None:
    log = new_log()
    produce(log)
    sync(log)
    assert log.syncing.begin() is None
