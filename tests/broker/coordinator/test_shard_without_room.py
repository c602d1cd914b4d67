"""A shard whose records find no room: refused whole, until there is some."""

import errno
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.phase import Phase
from odradek.broker.replica.logs.written_partitions import RETRY_MS
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.tally import (
    Counted,
    Tallies,
    TallyBroker,
    first_shard,
    refuse,
    tally_broker,
)
from tests.fakes.replicas import full_catalog


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[TallyBroker]:
    async with tally_broker(tmp_path) as made:
        yield made


async def test_without_room_in_the_catalogue_a_shard_waits_and_goes_on(
    broker: TallyBroker,
) -> None:
    with full_catalog(broker.replicas.catalog):
        first = broker.add("a")
        await broker.replicas.commit()
        assert not first.done()
        assert broker.add("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert first_shard(broker).phase is Phase.ACTIVE
    broker.replicas.clock.advance(RETRY_MS)
    await broker.replicas.manager.recorded()
    assert first.result() == 1
    second = broker.add("a")
    await broker.replicas.commit()
    assert second.result() == 2


async def test_without_room_in_the_log_a_shard_refuses_and_goes_on(
    broker: TallyBroker,
) -> None:
    broker.replicas.files.fail("mkdir", error=errno.ENOSPC)
    assert broker.add("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    for nth in 1, 2:  # partition.metadata, which can wait, and the record
        broker.replicas.files.fail("append", nth=nth, error=errno.ENOSPC)
    assert broker.add("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    answer = broker.add("a")
    await broker.replicas.commit()
    assert answer.result() == 1


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_decision_of_several_batches_is_written_whole_or_not_at_all(
    broker: TallyBroker, nth: int
) -> None:
    broker.add("a")
    await broker.replicas.commit()
    names = [f"{number}-" + "x" * 300_000 for number in range(6)]

    def decide(state: Tallies) -> Decision:
        return Decision("done", [Counted(name, 1) for name in names])

    log = broker.replicas.log_of(first_shard(broker).topic_partition)
    size = log.local.size
    broker.replicas.files.fail("append", nth=nth, error=errno.ENOSPC)
    answer = broker.runtime.act("a", decide, refuse)
    broker.replicas.files.heal()
    if isinstance(answer, KafkaError):
        assert answer.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert broker.state("a").counts == {"a": 1}
        assert (log.log_end_offset, log.local.size) == (1, size)
        answer = broker.runtime.act("a", decide, refuse)
    await broker.replicas.commit()
    assert answer.result() == "done"
    assert len(broker.state("a").counts) == 7
    assert [place.offset for place in broker.state("a").places] == list(range(7))


async def test_of_many_records_one_that_is_too_large_keeps_all_from_being_written(
    broker: TallyBroker,
) -> None:
    """State and log agree, and the answer says what became of them."""
    big = "x" * 2_000_000

    def decide(state: Tallies) -> Decision:
        return Decision("never", [Counted("a", 1), Counted(big, 1), Counted("b", 1)])

    answer = broker.runtime.act("a", decide, refuse)
    assert answer.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.state("a").counts == {}
    log = broker.replicas.logs.get(first_shard(broker).topic_partition)
    assert log is None or log.log_end_offset == 0
