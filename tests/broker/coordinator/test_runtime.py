"""Shards that are found by key, loaded by replay, and asked meanwhile."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.broker.coordinator import runtime
from odradek.broker.coordinator.decision import Decision, ProducerIdentity
from odradek.broker.coordinator.phase import Phase
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.runtime.parked import Parked
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, NotCoordinator
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.tally import (
    PARTITIONS,
    TOPIC,
    Counted,
    Tallies,
    TallyBroker,
    refuse,
    tally_broker,
)
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import replicas

if TYPE_CHECKING:
    from odradek.broker.coordinator.runtime import CoordinatorRuntime
NAMES = [f"name-{number}" for number in range(12)]


async def loaded(broker: TallyBroker) -> None:
    broker.runtime.load_all()
    await broker.runtime.loaded()


async def test_without_its_topic_nobody_coordinates(tmp_path: Path) -> None:
    async with replicas(tmp_path) as fixture:
        runtime: CoordinatorRuntime[Tallies] = TallyBroker(fixture).runtime
        answer = runtime.act("a", lambda state: 1 / 0, refuse)  # type: ignore[arg-type,return-value]
        assert answer.code == ErrorCode.NOT_COORDINATOR


async def test_a_partition_that_was_never_written_is_there_at_once(
    tmp_path: Path,
) -> None:
    async with tally_broker(tmp_path) as broker:
        assert broker.read("a") == 0
        assert broker.state("a").is_loaded


async def test_a_state_is_settled_when_all_of_it_is_durable(tmp_path: Path) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        assert broker.runtime.settled("a") is None, "nobody has asked for it"
        assert broker.read("a") == 0
        assert broker.runtime.settled("a") is broker.state("a")
        broker.add("a")
        assert broker.runtime.settled("a") is None
        await broker.replicas.commit()
        assert broker.runtime.settled("a") is broker.state("a")
    async with tally_broker(tmp_path, files) as broker:
        broker.runtime.load_all()
        assert broker.runtime.settled("a") is None
        await broker.runtime.loaded()
        assert broker.runtime.settled("a") is None, "the partitions are not counted"
        assert broker.read("a") == 1
        assert broker.runtime.settled("a") is broker.state("a")
        broker.runtime.unload()
        assert broker.runtime.settled("a") is None


async def test_what_was_counted_is_there_after_a_restart(tmp_path: Path) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        for name in NAMES * 3:
            broker.add(name)
        await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        await loaded(broker)
        assert {name: broker.read(name) for name in NAMES} == dict.fromkeys(NAMES, 3)


async def test_what_is_being_loaded_says_so(tmp_path: Path) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        broker.add("a")
        await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        assert broker.read("a").code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await loaded(broker)
        assert broker.read("a") == 1


async def test_who_is_asked_for_is_loaded_first(tmp_path: Path) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        for name in NAMES:
            broker.add(name)
        await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        broker.runtime.load_all()
        last = broker.runtime._wanted[-1]
        broker.runtime.shard(last)
        assert broker.runtime._wanted[0] == last
        await loaded(broker)
        assert {shard.phase for shard in broker.runtime.shards()} == {Phase.ACTIVE}
        assert len(list(broker.runtime.shards())) == PARTITIONS


async def test_markers_and_strange_records_on_the_way(tmp_path: Path) -> None:
    """A record of an unknown kind, one that is damaged, a transaction."""
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        broker.add("a", producer=ProducerIdentity(7, 0))
        shard = broker.runtime.shard(broker.runtime.partition_of("a"))
        marker = build_marker_batch(EndTxnMarker(ControlType.COMMIT, 0), 7, 0, 1)
        strange = [NewRecord(b"?", b"1"), NewRecord(b"!", b"1"), NewRecord(b"a", b"5")]
        for batch in (marker, build_batch(strange)):
            broker.replicas.manager.append_records(
                {shard.topic_partition: batch},
                acks=1,
                timeout_ms=1000,
                terms=OF_A_COORDINATOR,
            )
        await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        await loaded(broker)
        state = broker.state("a")
        assert state.ended == [(7, True)]
        assert state.counts == {"a": 5}
        assert [place.offset for place in state.places] == [0, 4]
        assert state.places[0].producer_id == 7


async def test_a_shard_whose_log_cannot_be_read_is_not_available(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        broker.add("a")
        await broker.replicas.commit()
        number = broker.runtime.partition_of("a")
    files.rmtree(broker.replicas.config.log_dirs[0] / f"{TOPIC}-{number}")
    async with tally_broker(tmp_path, files) as broker:
        await loaded(broker)
        assert broker.read("a").code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_every_loaded_shard_can_be_told_to_decide(tmp_path: Path) -> None:
    async with tally_broker(tmp_path) as broker:
        for number in range(PARTITIONS):
            broker.runtime.shard(number)
        asked: list[TopicPartition] = []

        def decide(state: Tallies) -> Decision:
            asked.append(state.shard.topic_partition)
            return Decision()

        broker.runtime.schedule(decide)
        assert len(asked) == PARTITIONS


async def test_a_shard_that_cannot_decide_keeps_no_other(tmp_path: Path) -> None:
    async with tally_broker(tmp_path) as broker:
        for number in range(PARTITIONS):
            broker.runtime.shard(number)
        asked: list[TopicPartition] = []

        def decide(state: Tallies) -> Decision:
            asked.append(state.shard.topic_partition)
            if len(asked) == 1:
                raise ZeroDivisionError
            if len(asked) == 2:
                raise CoordinatorNotAvailable
            return Decision()

        assert not broker.runtime.schedule(decide)
        assert len(asked) == PARTITIONS
        assert [type(bug) for bug in broker.replicas.bugs] == [ZeroDivisionError]
        broker.replicas.bugs.clear()
        assert broker.runtime.schedule(decide)


async def test_a_deleted_topic_leaves_nothing_behind(tmp_path: Path) -> None:
    """Who waits is sent elsewhere; one that gets the name begins with nothing."""
    async with tally_broker(tmp_path) as broker:
        broker.add("a")
        state = broker.state("a")
        broker.runtime.unload()
        assert isinstance(state.unloaded, NotCoordinator)
        assert list(broker.runtime.shards()) == []
        await broker.replicas.commit()  # what was appended may still become durable
        assert broker.state("a") is not state


async def test_a_topic_that_is_deleted_while_it_is_loaded(tmp_path: Path) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        for name in NAMES:
            broker.add(name)
        await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        broker.runtime.load_all()
        shards = list(broker.runtime.shards())
        await asyncio.sleep(0)
        broker.runtime.unload()
        assert broker.runtime.is_loaded
        await loaded(broker)
        assert not {shard.phase for shard in shards} - {Phase.FAILED}
        assert broker.read("a") == 0
        assert not any(shard in shards for shard in broker.runtime.shards())


async def test_a_decision_about_a_topic_that_is_gone(tmp_path: Path) -> None:
    """Also of a timer that was due before anybody was told."""
    async with tally_broker(tmp_path) as broker:
        shard = broker.runtime.shard(broker.runtime.partition_of("a"))
        topics = broker.replicas.topics
        topic = topics.get(TOPIC)
        assert topic is not None
        await topics.begin_deletions({topic.topic_id: 0})
        places = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        await broker.replicas.manager.stop(places)
        assert broker.add("a").code == ErrorCode.NOT_COORDINATOR
        answer = shard.act(lambda _: Decision("x", [Counted("a", 1)]), refuse)
        assert answer.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert shard.state.counts == {}


async def test_partitions_that_are_added_take_no_keys_away(tmp_path: Path) -> None:
    async with tally_broker(tmp_path) as broker:
        before = {name: broker.runtime.partition_of(name) for name in NAMES}
        await broker.replicas.topics.create_partitions({TOPIC: 5 * PARTITIONS})
        assert {name: broker.runtime.partition_of(name) for name in NAMES} == before


async def test_a_marker_begins_the_loading_of_its_shard(tmp_path: Path) -> None:
    files = FakeFiles()
    producer = ProducerIdentity(7, 0)
    async with tally_broker(tmp_path, files) as broker:
        broker.add("a", producer=producer)
        await broker.replicas.commit()
        place = TopicPartition(TOPIC, broker.runtime.partition_of("a"))
    async with tally_broker(tmp_path, files) as broker:
        runtime = broker.runtime
        code = runtime.end_transaction(place, producer, True, 0, 0)
        assert code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await runtime.loaded()
        answer = runtime.end_transaction(place, producer, True, 0, 0)
        assert isinstance(answer, Parked)
        await broker.replicas.commit()
        assert answer.result() == ErrorCode.NONE
        assert broker.state("a").ended == [(7, True)]


async def test_a_marker_for_no_partition_is_told_so(tmp_path: Path) -> None:
    async with tally_broker(tmp_path) as broker:
        nowhere = TopicPartition(TOPIC, PARTITIONS)
        end = broker.runtime.end_transaction
        for _ in range(2):
            code = end(nowhere, ProducerIdentity(7, 0), True, 0, 0)
            assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_what_was_loaded_is_told_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        for name in NAMES:
            broker.add(name)
        await broker.replicas.commit()
    caplog.set_level("INFO", runtime.__name__)
    async with tally_broker(tmp_path, files) as broker:
        await loaded(broker)
    assert [each.getMessage() for each in caplog.records] == [
        f"{TOPIC}: {len(NAMES)} tally marks loaded in 0.000 s from {len(NAMES)} records"
        f" in {PARTITIONS} partitions"
    ]


async def test_where_there_is_nothing_to_load_nothing_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", runtime.__name__)
    async with tally_broker(tmp_path) as broker:
        await loaded(broker)
    assert not caplog.records


async def test_who_does_not_lead_a_partition_does_not_coordinate(
    tmp_path: Path,
) -> None:
    async with tally_broker(tmp_path) as broker:
        place = TopicPartition(TOPIC, broker.runtime.partition_of("a"))
        leadership = broker.runtime.replica_manager.partition(place).leadership
        leadership.replicas = leadership.replicas._replace(is_leader=False)
        broker.runtime.load_all()
        with pytest.raises(NotCoordinator):
            broker.runtime.shard(place.partition)


async def test_who_resigns_forgets_and_who_is_elected_loads_anew(
    tmp_path: Path,
) -> None:
    async with tally_broker(tmp_path) as broker:
        await loaded(broker)
        broker.add("a")
        await broker.replicas.commit()
        partition = broker.runtime.partition_of("a")
        before = broker.runtime.shard(partition)
        broker.runtime.resign(partition)
        assert before not in list(broker.runtime.shards())
        broker.runtime.elect(partition)
        await broker.runtime.loaded()
        after = broker.runtime.shard(partition)
        assert after is not before
        assert broker.read("a") == 1
