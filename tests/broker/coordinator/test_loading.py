"""A log is replayed from its start to its end, whatever lies in it."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.broker.coordinator.decision import Place, ProducerIdentity, TakenBatches
from odradek.broker.coordinator.loading import Loader
from odradek.broker.coordinator.shard import Shard
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.protocol.errors import ErrorCode
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.tally import TOPIC, Tallies, TallyBroker, tally_broker
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, marker_of

NAME = "a"
CODECS = range(5)  # none, gzip, Snappy, LZ4, Zstandard


def append(broker: TallyBroker, batch: bytes | bytearray | memoryview) -> None:
    results = broker.replicas.manager.append_records(
        {place(broker): batch},
        acks=1,
        timeout_ms=1000,
        terms=OF_A_COORDINATOR,
    )
    assert results[place(broker)].error_code == ErrorCode.NONE


def place(broker: TallyBroker) -> TopicPartition:
    return TopicPartition(TOPIC, broker.runtime.partition_of(NAME))


async def reloaded(
    tmp_path: Path,
    write: Callable[[TallyBroker], None],
    damage: Callable[[FakeFiles, Path], None] | None = None,
) -> Tallies:
    """What the next process makes of what was written."""
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        write(broker)
        await broker.replicas.commit()
        directory = LOG_DIR / f"{TOPIC}-{place(broker).partition}"
    if damage is not None:
        damage(files, directory)
    async with tally_broker(tmp_path, files) as broker:
        broker.runtime.load_all()
        await broker.runtime.loaded()
        return broker.state(NAME)


async def test_the_last_record_of_a_key_counts_and_tombstones_remove(
    tmp_path: Path,
) -> None:
    def write(broker: TallyBroker) -> None:
        append(broker, build_batch([NewRecord(b"a", b"1"), NewRecord(b"b", b"2")]))
        append(broker, build_batch([NewRecord(b"b", None), NewRecord(b"a", b"3")]))

    state = await reloaded(tmp_path, write)
    assert state.counts == {"a": 3}
    assert [each.offset for each in state.places] == [0, 1, 2, 3]
    assert state.is_loaded


async def test_what_was_deleted_before_the_log_start_is_not_replayed(
    tmp_path: Path,
) -> None:
    async with tally_broker(tmp_path) as broker:
        append(broker, build_batch([NewRecord(b"b", b"1")]))
        append(broker, build_batch([NewRecord(b"a", b"2")]))
        await broker.replicas.commit()
        broker.replicas.log_of(place(broker)).increment_log_start(1)
        partition = broker.replicas.manager.partition(place(broker))
        state = Tallies(broker.runtime.shard(place(broker).partition))
        loader = Loader(partition, state, broker.replicas.threads, 1000)
        await loader.load()
        assert state.counts == {"a": 2}
        assert loader.record_count == 1


async def test_a_transaction_is_replayed_with_its_producer_and_its_end(
    tmp_path: Path,
) -> None:
    def write(broker: TallyBroker) -> None:
        broker.add(NAME, producer=ProducerIdentity(7, 0))
        append(broker, marker_of(7, commits=True))
        broker.add(NAME, producer=ProducerIdentity(8, 0))
        append(broker, marker_of(8, commits=False))
        broker.add(NAME, producer=ProducerIdentity(9, 0))

    state = await reloaded(tmp_path, write)
    assert state.ended == [(7, True), (8, False)]
    assert [each.producer_id for each in state.places] == [7, 8, 9]


async def test_a_batch_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    def write(broker: TallyBroker) -> None:
        many = [NewRecord(b"name-%d" % number, b"1") for number in range(300)]
        append(broker, build_batch(many))  # the runtime reads 1000 bytes at a time

    state = await reloaded(tmp_path, write)
    assert len(state.counts) == 300


async def test_others_have_their_turn_while_many_records_are_replayed(
    tmp_path: Path,
) -> None:
    async with tally_broker(tmp_path) as broker:
        many = [NewRecord(b"name-%d" % number, b"1") for number in range(2600)]
        append(broker, build_batch(many))
        partition = broker.replicas.manager.partition(place(broker))
        state = Tallies(broker.runtime.shard(place(broker).partition))
        loader = Loader(partition, state, broker.replicas.threads, 1 << 20)
        loading = asyncio.ensure_future(loader.load())
        turns = [0]
        for turn in itertools.count():
            if loading.done():
                break
            await asyncio.sleep(0)
            turns.append(len(state.counts))
            assert turn < 1000
        assert loader.record_count == 2600
        assert max(map(int.__sub__, turns[1:], turns)) <= 500


class TakingTallies(Tallies):
    """Takes up to two plain batches together, in steps of a record."""

    def __init__(self, shard: Shard[Tallies]) -> None:
        super().__init__(shard)
        self.taken: list[int] = []

    def take_batches(self, data: bytes, position: int) -> TakenBatches | None:
        found = itertools.takewhile(
            lambda each: not (each[1].is_transactional or each[1].compression),
            scan(data[position:]),
        )
        batches = list(itertools.islice(found, 2))
        if not batches:
            return None
        at, last = batches[-1]
        count = sum(header.records_count for _, header in batches)
        size = at + last.size
        steps = self.take(data[position : position + size])
        return TakenBatches(position + size, last.next_offset, count, steps)

    def take(self, data: bytes) -> Iterator[None]:
        for at, header in scan(data):
            for record in iterate(data[at : at + header.size]):
                self.taken.append(record.offset)
                self.replay(
                    self.decode(record.key, record.value), Place(record.offset, 0)
                )
                yield


@pytest.mark.parametrize("read_size", [1, 300, 1 << 20])
async def test_batches_are_taken_together_where_the_state_can(
    tmp_path: Path, read_size: int
) -> None:
    async with tally_broker(tmp_path) as broker:
        for number in range(3):
            append(broker, build_batch([NewRecord(b"%d" % number, b"1")] * 2))
        transaction = {"producer_id": 7, "is_transactional": True}
        one = [NewRecord(b"a", b"1")]
        append(broker, build_batch(one, producer_epoch=0, **transaction))
        append(broker, marker_of(7, commits=True))
        append(broker, build_batch([NewRecord(b"0", b"5")]))
        await broker.replicas.commit()
        partition = broker.replicas.manager.partition(place(broker))
        state = TakingTallies(broker.runtime.shard(place(broker).partition))
        loader = Loader(partition, state, broker.replicas.threads, read_size)
        await loader.load()
    assert state.taken == [0, 1, 2, 3, 4, 5, 8]
    assert state.counts == {"0": 5, "1": 1, "2": 1, "a": 1}
    assert state.ended == [(7, True)]
    assert loader.record_count == 8


async def test_compressed_batches_are_taken_as_all_others(tmp_path: Path) -> None:
    async with tally_broker(tmp_path) as broker:
        some = [NewRecord(b"%d" % number, b"1") for number in range(9)]
        for compression in CODECS:
            append(broker, build_batch(some, compression=compression))
        transaction = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
        append(broker, build_batch(some, compression=1, **transaction))
        append(broker, marker_of(7, commits=True))
        await broker.replicas.commit()
        partition = broker.replicas.manager.partition(place(broker))
        state = TakingTallies(broker.runtime.shard(place(broker).partition))
        loader = Loader(partition, state, broker.replicas.threads, 1 << 20)
        await loader.load()
    count = 9 * len(CODECS)
    assert state.taken == list(range(count))
    assert state.counts == {str(number): 1 for number in range(9)}
    assert state.ended == [(7, True)]
    assert loader.record_count == count + 9


async def test_damage_costs_its_batch_and_nothing_else(tmp_path: Path) -> None:
    def write(broker: TallyBroker) -> None:
        for number in range(3):
            append(broker, build_batch([NewRecord(b"%d" % number, b"1")]))

    def damage(files: FakeFiles, directory: Path) -> None:
        log = directory / "00000000000000000000.log"
        files.flip(log, len(files.content(log)) // 3 + 65)

    state = await reloaded(tmp_path, write, damage)
    assert state.counts == {"0": 1, "2": 1}
    assert state.is_loaded


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("next_epoch", [None, 1])
async def test_a_transaction_ends_though_its_marker_is_damaged(
    tmp_path: Path, commits: bool, next_epoch: int | None
) -> None:
    """As the log's own books say, which are of before the damage."""
    markers: list[int] = []

    def write(broker: TallyBroker) -> None:
        transactional = {"producer_id": 7, "is_transactional": True}
        data = build_batch([NewRecord(b"a", b"1")], producer_epoch=0, **transactional)
        append(broker, data)
        markers.append(len(data))
        append(broker, marker_of(7, 1, commits=commits))
        append(broker, build_batch([NewRecord(b"b", b"1")]))
        if next_epoch is not None:
            more = [NewRecord(b"c", b"1")]
            append(
                broker, build_batch(more, producer_epoch=next_epoch, **transactional)
            )

    def damage(files: FakeFiles, directory: Path) -> None:
        files.flip(directory / "00000000000000000000.log", markers[0] + 70)

    state = await reloaded(tmp_path, write, damage)
    assert state.counts["b"] == 1
    assert state.ended == [(7, commits)]


async def test_a_transaction_that_the_log_has_open_stays_open(tmp_path: Path) -> None:
    def write(broker: TallyBroker) -> None:
        for number in range(2):
            records = [NewRecord(b"%d" % number, b"1")]
            append(
                broker,
                build_batch(
                    records, producer_id=7, producer_epoch=0, is_transactional=True
                ),
            )

    assert (await reloaded(tmp_path, write)).ended == []


async def test_a_torn_tail_is_no_part_of_the_log(tmp_path: Path) -> None:
    def write(broker: TallyBroker) -> None:
        for number in range(3):
            append(broker, build_batch([NewRecord(b"%d" % number, b"1")]))

    def damage(files: FakeFiles, directory: Path) -> None:
        files.cut(directory / "00000000000000000000.log", by=1)

    state = await reloaded(tmp_path, write, damage)
    assert state.counts == {"0": 1, "1": 1}
