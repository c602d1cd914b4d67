"""Markers that end a transaction in a shard's partition: applied, then answered."""

import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.phase import Phase
from odradek.protocol.errors import (
    ErrorCode,
)
from tests.broker.coordinator.tally import (
    TallyBroker,
    first_shard,
    tally_broker,
)

PRODUCER = ProducerIdentity(7, 2)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[TallyBroker]:
    async with tally_broker(tmp_path) as made:
        yield made


def ended(
    broker: TallyBroker, producer: ProducerIdentity = PRODUCER, *, is_commit: bool
) -> Any:
    """What `end_transaction` of the first shard returns."""
    return first_shard(broker).end_transaction(producer, is_commit, 4, 0)


async def test_a_marker_is_applied_at_once_and_answered_when_durable(
    broker: TallyBroker,
) -> None:
    broker.add("a", producer=PRODUCER)
    answer = ended(broker, is_commit=True)
    assert first_shard(broker).state.ended == [(7, True)]
    assert not answer.done()
    await broker.replicas.commit()
    assert answer.result() == ErrorCode.NONE
    log = broker.replicas.log_of(first_shard(broker).topic_partition)
    assert log.log_end_offset == log.last_stable_offset == 2


async def test_what_is_read_behind_a_marker_waits_for_it(broker: TallyBroker) -> None:
    broker.add("a", producer=PRODUCER)
    await broker.replicas.commit()
    ended(broker, is_commit=False)
    reading = broker.read("a")
    assert not reading.done()
    await broker.replicas.commit()
    assert reading.result() == 1


async def test_a_marker_without_records_is_written_all_the_same(
    broker: TallyBroker,
) -> None:
    answer = ended(broker, is_commit=True)
    await broker.replicas.commit()
    assert answer.result() == ErrorCode.NONE
    log = broker.replicas.log_of(first_shard(broker).topic_partition)
    assert log.log_end_offset == 1


async def test_a_marker_of_an_older_epoch_changes_nothing(broker: TallyBroker) -> None:
    broker.add("a", producer=PRODUCER)
    older = ProducerIdentity(7, 1)
    assert ended(broker, older, is_commit=True) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert first_shard(broker).state.ended == []


async def test_a_late_marker_of_the_second_protocol_changes_nothing(
    broker: TallyBroker,
) -> None:
    """It has the epoch of the transaction behind the one that it ends."""
    broker.add("a", producer=PRODUCER)
    late = first_shard(broker).end_transaction(PRODUCER, True, 4, 2)
    assert late == ErrorCode.INVALID_PRODUCER_EPOCH
    assert first_shard(broker).state.ended == []


async def test_a_marker_of_an_older_coordinator_changes_nothing(
    broker: TallyBroker,
) -> None:
    broker.add("a", producer=PRODUCER)
    ended(broker, is_commit=True)
    fenced = first_shard(broker).end_transaction(PRODUCER, False, 3, 0)
    assert fenced == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert first_shard(broker).state.ended == [(7, True)]


async def test_a_marker_that_is_not_durable_says_what_the_log_says(
    broker: TallyBroker,
) -> None:
    broker.add("a", producer=PRODUCER)
    answer = ended(broker, is_commit=True)
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    assert answer.result() == ErrorCode.KAFKA_STORAGE_ERROR
    assert first_shard(broker).phase is Phase.FAILED
    again = ended(broker, is_commit=True)
    assert again == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_marker_that_cannot_be_replayed_ends_the_shard(
    broker: TallyBroker,
) -> None:
    state = first_shard(broker).state
    state.end_transaction = lambda place, is_commit: 1 // 0  # type: ignore[method-assign,assignment,return-value]
    answer = ended(broker, is_commit=True)
    assert answer == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert first_shard(broker).phase is Phase.FAILED
    assert [type(bug) for bug in broker.replicas.bugs] == [ZeroDivisionError]
    broker.replicas.bugs.clear()
