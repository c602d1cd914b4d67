"""Decisions on a coordinator of tallies: written, replayed, answered when durable."""

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import Decision, Place, ProducerIdentity
from odradek.broker.coordinator.phase import Phase
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidRequest,
    KafkaError,
    KafkaStorageError,
    NotCoordinator,
)
from odradek.storage.log.appender import Appender
from tests.broker.coordinator.tally import (
    TOPIC,
    Counted,
    Tallies,
    TallyBroker,
    first_shard,
    refuse,
    tally_broker,
)
from tests.fakes.replicas import replicas


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[TallyBroker]:
    async with tally_broker(tmp_path) as made:
        yield made


async def test_an_answer_leaves_when_its_records_are_durable(
    broker: TallyBroker,
) -> None:
    answer = broker.add("a")
    assert isinstance(answer, Parked)
    assert not answer.done()
    await broker.replicas.commit()
    assert answer.result() == 1


async def test_records_are_replayed_before_anything_else_is_decided(
    broker: TallyBroker,
) -> None:
    answers = [broker.add("a") for _ in range(3)]
    assert broker.state("a").counts == {"a": 3}
    await broker.replicas.commit()
    assert [answer.result() for answer in answers] == [1, 2, 3]


async def test_replay_is_told_the_place_in_the_log(broker: TallyBroker) -> None:
    now_ms = broker.replicas.clock.now_ms()
    broker.add("a")
    broker.add("a", producer=ProducerIdentity(7, 2))
    assert broker.state("a").places == [Place(0, now_ms), Place(1, now_ms, 7, 2)]


async def test_a_reading_answer_waits_for_what_was_written_before(
    broker: TallyBroker,
) -> None:
    broker.add("a")
    answer = broker.read("a")
    assert not answer.done()
    await broker.replicas.commit()
    assert answer.result() == 1
    assert broker.read("a") == 1  # at once: nothing is open


async def test_an_answer_that_reads_nothing_does_not_wait(broker: TallyBroker) -> None:
    broker.add("a")
    decided = broker.runtime.act("a", lambda _: Decision("beat"), refuse)
    assert decided == "beat"


async def test_what_follows_runs_behind_the_durable_record(broker: TallyBroker) -> None:
    ran: list[str] = []
    broker.add("a", then=lambda: ran.append("then"))
    await asyncio.sleep(0)
    assert ran == []
    await broker.replicas.commit()
    await asyncio.sleep(0)
    assert ran == ["then"]


async def test_what_may_be_lost_is_answered_and_read_at_once(
    broker: TallyBroker,
) -> None:
    ran: list[str] = []
    assert broker.add("a", may_be_lost=True, then=lambda: ran.append("then")) == 1
    assert broker.read("a") == 1
    assert broker.runtime.settled("a") is broker.state("a")
    await asyncio.sleep(0)
    assert ran == ["then"]
    await broker.replicas.commit()
    assert broker.add("a", may_be_lost=True) == 2, "by the short way, too"
    answer = broker.add("a")
    assert not answer.done()
    await broker.replicas.commit()
    assert answer.result() == 3


async def test_one_record_takes_the_short_way_where_nothing_is_ever_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tally_broker(tmp_path, durability="none") as broker:
        assert broker.add("a") == 1  # it makes the log
        monkeypatch.delattr(Appender, "append_as_leader")
        assert [broker.add("a") for _ in range(3)] == [2, 3, 4]
        assert len(broker.state("a").places) == 4


async def test_what_was_written_before_it_is_waited_for(broker: TallyBroker) -> None:
    counted = broker.add("a")
    assert broker.add("a", may_be_lost=True) == 2
    reading = broker.read("a")
    assert not counted.done()
    assert not reading.done()
    await broker.replicas.commit()
    assert (counted.result(), reading.result()) == (1, 2)


async def test_what_may_be_lost_waits_where_the_owner_wants_a_sync_of_each(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as fixture:
        await fixture.create_topic(TOPIC, 1, flush_messages="1")
        broker = TallyBroker(fixture)
        answer = broker.add("a", may_be_lost=True)
        reading = broker.read("a")
        assert not answer.done()
        assert not reading.done()
        await fixture.commit()
        assert (answer.result(), reading.result()) == (1, 1)
        await broker.runtime.close()


async def test_a_shard_fails_when_what_may_be_lost_is_lost(broker: TallyBroker) -> None:
    undone: list[KafkaError] = []
    assert broker.add("a", may_be_lost=True, undo=undone.append) == 1
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    assert first_shard(broker).phase is Phase.FAILED
    assert broker.read("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not undone, "somebody was told"


async def test_a_refused_decision_writes_nothing(broker: TallyBroker) -> None:
    def decide(state: Tallies) -> Decision:
        raise InvalidRequest("no")

    answer = broker.runtime.act("a", decide, refuse)
    assert answer.code == ErrorCode.INVALID_REQUEST


async def test_a_failed_append_leaves_the_state_untouched(broker: TallyBroker) -> None:
    broker.add("a")
    await broker.replicas.commit()
    undone: list[KafkaError] = []
    topic_partition = broker.runtime.shard(
        broker.runtime.partition_of("a")
    ).topic_partition

    def decide(state: Tallies) -> Decision:
        records = [Counted("x" * 2_000_000, 1)]
        return Decision("never", records, undo=undone.append)

    answer = broker.runtime.act("a", decide, refuse)
    assert answer.code == ErrorCode.UNKNOWN_SERVER_ERROR  # too large, as Kafka says it
    assert [error.code for error in undone] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert broker.state("a").counts == {"a": 1}
    assert broker.replicas.log_of(topic_partition).log_end_offset == 1
    broker.add("a")
    assert broker.state("a").counts == {"a": 2}


async def test_after_a_failed_sync_the_shard_is_not_available(
    broker: TallyBroker,
) -> None:
    undone: list[KafkaError] = []
    answer = broker.add("a", undo=undone.append)
    reading = broker.read("a")
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    assert answer.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert reading.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(undone) == 1
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    assert shard.phase is Phase.FAILED
    assert isinstance(shard.state.unloaded, CoordinatorNotAvailable)
    assert broker.add("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_what_is_read_between_a_failed_sync_and_its_news_is_refused(
    broker: TallyBroker,
) -> None:
    broker.add("a")
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    broker.replicas.log_of(shard.topic_partition).fail(KafkaStorageError())
    reading = broker.read("a")
    assert not reading.done()
    broker.replicas.manager.partition(shard.topic_partition).check_all_waiting()
    assert reading.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_what_is_not_replayed_is_written_all_the_same(
    broker: TallyBroker,
) -> None:
    broker.add("a", is_replayed=False)
    assert broker.state("a").counts == {}
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    assert broker.replicas.log_of(shard.topic_partition).log_end_offset == 1


async def test_a_timer_decides_too(broker: TallyBroker) -> None:
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    shard.timers.start("t", 10, lambda: Decision(records=[Counted("a", 9)]))
    broker.replicas.clock.advance(10)
    assert broker.state("a").counts == {"a": 9}


async def test_a_timer_that_raises_is_a_bug_and_stops_nobody(
    broker: TallyBroker,
) -> None:
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))

    def raises() -> Any:
        raise ZeroDivisionError

    shard.timers.start("t", 10, raises)
    broker.replicas.clock.advance(10)
    assert [type(bug) for bug in broker.replicas.bugs] == [ZeroDivisionError]
    broker.replicas.bugs.clear()


async def test_a_closing_broker_sends_those_who_wait_elsewhere(
    broker: TallyBroker,
) -> None:
    state = broker.state("a")
    await broker.runtime.close()
    assert isinstance(state.unloaded, NotCoordinator)
    assert broker.add("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_records_of_several_batches_are_answered_behind_the_last(
    broker: TallyBroker,
) -> None:
    names = [f"{number}-" + "x" * 300_000 for number in range(6)]

    def decide(state: Tallies) -> Decision:
        return Decision("done", [Counted(name, 1) for name in names])

    answer = broker.runtime.act("a", decide, refuse)
    assert not answer.done()
    assert [place.offset for place in broker.state("a").places] == list(range(6))
    await broker.replicas.commit()
    assert answer.result() == "done"


async def test_records_that_were_kept_and_never_are_durable_end_the_shard(
    broker: TallyBroker,
) -> None:
    """Nobody waits for them: what was decided is refused, for want of room."""
    small = {"cleanup.policy": "compact", "internal.segment.bytes": "1100000"}
    await broker.replicas.topics.alter_options(TOPIC, lambda _: small)
    broker.add("a")
    await broker.replicas.commit()
    names = [f"{number}-" + "x" * 300_000 for number in range(6)]

    def decide(state: Tallies) -> Decision:
        return Decision("done", [Counted(name, 1) for name in names])

    broker.replicas.files.fail("append", nth=2, error=errno.ENOSPC)
    answer = broker.runtime.act("a", decide, refuse)
    assert answer.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    shard = first_shard(broker)
    assert 1 < len(shard.state.counts) < 7
    assert shard.phase is Phase.ACTIVE
    broker.replicas.files.heal()
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    assert shard.phase is Phase.FAILED


async def test_a_record_that_cannot_be_replayed_ends_the_shard(
    broker: TallyBroker,
) -> None:
    """The log has what the state has not: nothing may be decided on it."""
    broker.state("a").replay = lambda record, place: 1 // 0  # type: ignore[method-assign,assignment,return-value]
    answer = broker.add("a")
    assert answer.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    assert shard.phase is Phase.FAILED
    assert [type(bug) for bug in broker.replicas.bugs] == [ZeroDivisionError]
    broker.replicas.bugs.clear()


async def test_a_failed_shard_starts_no_timers(broker: TallyBroker) -> None:
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    shard.fail("expected by this test")
    shard.timers.start("t", 10, lambda: Decision(records=[Counted("a", 9)]))
    broker.replicas.clock.advance(10)
    assert broker.replicas.clock.timer_count == 0
    assert shard.state.counts == {}
