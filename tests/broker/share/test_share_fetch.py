"""When a share fetch is answered."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.share.share_fetch import FetchState, FetchTerms
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, batch_of

from .rig import ACCEPT, RELEASE, ShareRig, settle, share_rig

SIZE = len(batch_of(b"v"))


async def begun(rig: ShareRig, partitions: int = 1, **options: str) -> None:
    await rig.create_topic(partitions, **options)
    for partition in range(partitions):
        rig.states.begin(rig.key(partition), 0)


async def test_it_waits_for_so_many_bytes_of_all_partitions(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=2)
        waiting = rig.ask(rig.open("m", 0, 1), min_bytes=2 * SIZE)
        await settle()
        await rig.fill(size=1)
        assert not waiting.done()
        await rig.fill(size=1, partition=1)
        reads = waiting.result()
        assert [each.acquired for each in reads.values()] == [[(0, 0, 1)]] * 2


async def test_another_segment_is_enough(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, internal_segment_bytes="300")
        waiting = rig.ask(rig.open(), min_bytes=1 << 20, max_wait_ms=60_000)
        await settle()
        for _ in range(3):
            await rig.fill(size=1)
            assert not waiting.done()
        for _ in range(3):
            await rig.fill(size=1)
        assert waiting.done()


async def test_without_a_least_size_it_does_not_wait(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        waiting = rig.ask(rig.open(), min_bytes=0)
        await settle()
        assert waiting.result()[rig.key()].acquired == ()


async def test_what_is_cold_is_enough(tmp_path: Path) -> None:
    files = FakeFiles()
    async with share_rig(tmp_path, files=files) as rig:
        await begun(rig)
        await rig.fill(2)
        path = str(LOG_DIR / str(TopicPartition("t", 0)) / "00000000000000000000.log")
        files.chill(path)
        waiting = rig.ask(rig.open(), min_bytes=1 << 20, max_wait_ms=60_000)
        assert (await waiting)[rig.key()].acquired == [(0, 19, 1)]


async def test_a_full_share_partition_waits_until_something_is_finished(
    tmp_path: Path,
) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        await rig.set_options(partition_max_record_locks="100")
        await rig.fill(12)
        one, other = rig.open("a"), rig.open("b")
        assert await rig.acquired(one) == [(0, 99, 1)]
        waiting = rig.ask(other, max_wait_ms=20_000)
        await settle()
        assert not waiting.done()
        rig.say(one, 50, 59, ACCEPT)
        await settle()
        assert not waiting.done(), "the start has not moved"
        rig.say(one, 0, 4, RELEASE)
        await settle()
        assert waiting.result()[rig.key()].acquired == [(0, 4, 2)]


async def test_an_open_transaction_is_not_waited_for_by_others(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        committed = FetchIsolation.TXN_COMMITTED
        waiting = rig.ask(rig.open(), isolation=committed, max_wait_ms=60_000)
        await settle()
        rig.append(
            b"v",
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        await rig.broker.commit()
        await settle()
        assert not waiting.done()
        assert await rig.acquired(rig.open("other")) == [(0, 0, 1)]


def test_it_is_answered_once() -> None:
    terms = FetchTerms("m", FetchIsolation.HIGH_WATERMARK, 0, 0, 0, 0, 0)
    told: list[int] = []
    fetch = FetchState(terms, [])
    answer, fetch.when_answered = fetch.answer, lambda: told.append(1)
    fetch.finish()
    fetch.finish()
    fetch.fail(RuntimeError())
    assert (answer.result(), told) == ({}, [1])
    failed = FetchState(terms, [])
    answer = failed.answer
    failed.fail(RuntimeError("oh"))
    failed.finish()
    with pytest.raises(RuntimeError, match="oh"):
        answer.result()


async def test_who_was_answered_holds_no_records(tmp_path: Path) -> None:
    """Of two partitions one stays quiet: in its list the fetch stays for long."""
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=2)
        waiting = rig.ask(rig.open("m", 0, 1))
        await settle()
        await rig.fill()
        assert waiting.result()[rig.key()].records
        watchers: Any = rig.broker.manager.share_fetches._watchers
        left = [each.fetch for of_key in watchers.values() for each in of_key]
        assert left
        assert all((each.results, each.served) == ({}, ()) for each in left)
        assert not any(each.answer.done() for each in left)
