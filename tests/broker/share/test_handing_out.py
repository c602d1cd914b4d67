"""What members are given, of what was read."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.protocol.errors import ErrorCode, KafkaError, KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, base_offsets, batch_of, marker_of

from .rig import RELEASE, ShareRig, settle, share_rig

T0 = TopicPartition("t", 0)
LOG = str(LOG_DIR / str(T0) / "00000000000000000000.log")


async def begun(rig: ShareRig, partitions: int = 1, batches: int = 3) -> None:
    await rig.create_topic(partitions)
    for partition in range(partitions):
        rig.states.begin(rig.key(partition), 0)
        await rig.fill(batches, partition=partition)


async def test_batches_that_others_have_are_not_sent(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        one, other = rig.open("a"), rig.open("b")
        first = await rig.fetch(one, records_max=10)
        assert base_offsets(first[rig.key()].records) == [0]
        second = await rig.fetch(other, records_max=3, is_exact=True)
        assert second[rig.key()].acquired == [(10, 12, 1)]
        assert base_offsets(second[rig.key()].records) == [10], "all of the batch"
        assert await rig.acquired(other) == [(13, 29, 1)]
        assert rig.sharing.handing_out.acquired_count == 30


async def test_so_many_records_of_all_partitions(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=3, batches=1)
        reads = await rig.fetch(rig.open("m", 0, 1, 2), records_max=15)
        assert [each.acquired for each in reads.values()] == [
            [(0, 9, 1)],
            [(0, 9, 1)],
            (),
        ]


async def test_each_partition_has_its_share_of_the_bytes(tmp_path: Path) -> None:
    size = len(batch_of(*[b"v"] * 10))
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=2)
        reads = await rig.fetch(rig.open("m", 0, 1), max_bytes=4 * size)
        assert [base_offsets(each.records) for each in reads.values()] == [
            [0, 10],
            [0, 10],
        ]
        little = await rig.fetch(rig.open("n", 0, 1), max_bytes=1)
        assert [base_offsets(each.records) for each in little.values()] == [[20], []]


async def append(rig: ShareRig, *batches: memoryview) -> None:
    for batch in batches:
        rig.broker.manager.append_records(
            {T0: batch}, acks=1, timeout_ms=1000, terms=OF_A_COORDINATOR
        )
    await rig.broker.commit()
    await settle()


def of_producer(producer_id: int) -> Any:
    return batch_of(
        b"v",
        b"w",
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


async def test_g026_what_was_aborted_nobody_sees(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, batches=0)
        batches = of_producer(7), batch_of(b"x"), of_producer(8)
        await append(rig, *batches, marker_of(7, commits=False))
        await append(rig, marker_of(8, commits=True))
        session = rig.open()
        committed = FetchIsolation.TXN_COMMITTED
        assert await rig.acquired(session, isolation=committed) == [(2, 6, 1)]
        await settle()
        state = rig.states.states[rig.key()]
        assert (state.start, state.batches) == (2, ()), "finished, and written"
        assert rig.say(session, 2, 6, [1]) is None
        assert rig.states.states[rig.key()].start == 7


async def test_nothing_is_left_of_what_was_aborted(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, batches=0)
        await append(rig, of_producer(7))
        await append(rig, marker_of(7, commits=False))
        session, committed = rig.open(), FetchIsolation.TXN_COMMITTED
        assert await rig.acquired(session, isolation=committed) == [(2, 2, 1)]


async def test_the_disk_is_waited_for_and_nobody_else_reads(tmp_path: Path) -> None:
    files = FakeFiles()
    async with share_rig(tmp_path, files=files) as rig:
        await begun(rig)
        one, other = rig.open("a"), rig.open("b")
        assert await rig.acquired(one, records_max=10) == [(0, 9, 1)]
        files.chill(LOG)
        first = rig.ask(one, records_max=10, max_wait_ms=60_000)
        second = rig.ask(other, max_wait_ms=60_000)
        assert not first.done()
        assert (await first)[rig.key()].acquired == [(10, 19, 1)]
        assert (await second)[rig.key()].acquired == [(20, 29, 1)]


async def test_who_is_gone_when_the_disk_has_read_gets_nothing(tmp_path: Path) -> None:
    files = FakeFiles()
    async with share_rig(tmp_path, files=files) as rig:
        await begun(rig)
        one, other = rig.open("a"), rig.open("b")
        assert await rig.acquired(one, records_max=10) == [(0, 9, 1)]
        files.chill(LOG)
        gone = rig.ask(one, max_wait_ms=60_000)
        rig.sharing.end(one)
        assert await gone == {}
        assert (await rig.ask(other))[rig.key()].acquired == [(0, 9, 2), (10, 29, 1)]


async def test_a_disk_that_fails_is_told(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        partition = rig.broker.manager.partition(T0)
        session = rig.open()
        assert await rig.acquired(session, records_max=10) == [(0, 9, 1)]
        partition.leadership.refusal = KafkaStorageError("gone")
        error = (await rig.fetch(session))[rig.key()].error
        assert isinstance(error, KafkaError)
        assert error.code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_bug_is_told_to_who_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FakeFiles()
    async with share_rig(tmp_path, files=files) as rig:
        await begun(rig)
        session = rig.open()
        assert await rig.acquired(session, records_max=10) == [(0, 9, 1)]
        (served,) = rig.sharing.served()

        def fail(*_: Any) -> None:
            raise RuntimeError("oh")

        monkeypatch.setattr(served.state, "acquire", fail)
        files.chill(LOG)
        with pytest.raises(RuntimeError, match="oh"):
            await rig.ask(session)
        assert [str(each) for each in rig.broker.bugs] == ["oh"]
        rig.broker.bugs.clear()
        assert not served.is_being_read


async def test_g024_one_that_fails_is_found_among_a_hundred(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        await rig.set_options(delivery_count_limit="3")
        rig.states.begin(rig.key(), 0)
        await rig.fill(10)
        session, accepted, tries = rig.open(), set[int](), 0
        while given := await rig.acquired(session, max_wait_ms=1):
            offsets = [at for first, last, _ in given for at in range(first, last + 1)]
            tries += 42 in offsets
            for first, last, _ in given:
                is_bad = 42 in offsets
                rig.say(session, first, last, RELEASE if is_bad else [1])
            accepted.update([] if 42 in offsets else offsets)
        assert tries == 3
        assert accepted == set(range(100)) - {42}
        assert rig.states.states[rig.key()].start == 100


async def test_no_more_is_read_than_so_many_records_need(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        rig.states.begin(rig.key(), 0)
        for _ in range(40):
            rig.append(*[bytes(1000)] * 10)
        await rig.broker.commit()
        session, log = rig.open(), rig.broker.log_of(T0)
        assert await rig.acquired(session, records_max=10) == [(0, 9, 1)]
        whole = log.fetched_bytes
        assert await rig.acquired(session, records_max=10) == [(10, 19, 1)]
        assert log.fetched_bytes - whole <= 64 << 10 < whole
        before = log.fetched_bytes
        assert await rig.acquired(session, records_max=100) == [(20, 119, 1)]
        assert 100_000 < log.fetched_bytes - before < 140_000
