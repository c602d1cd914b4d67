import asyncio
from pathlib import Path
from typing import Any

from odradek.protocol.errors import UnknownServerError
from odradek.storage.files.files import StorageFailure
from tests.broker.cluster.fetchers.rig import LEADER, T0, US, Rig, rig_of
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, replicas


async def test_no_leader_is_told_of_what_is_not_durable(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step()
        assert (rig.ends, rig.leader.told) == ((1, 0), 0)
        await rig.step()
        assert (rig.ends, rig.leader.told) == ((1, 1), 1)
        assert rig.partition.is_written


async def test_who_cannot_make_it_durable_says_nothing_more(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step()
        broker.committer.for_directory(LOG_DIR).fail(StorageFailure("a bad block"))
        await rig.step(3)
        assert (len(rig.leader.requests), rig.leader.told) == (1, 0)
        assert "cannot be made durable" in (rig.followed.trouble or "")


async def test_what_is_held_at_the_end_of_a_move_is_told_behind_it(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step()
        broker.log_of(T0).syncing.hold()
        await rig.step(2)
        assert (len(rig.leader.requests), rig.followed.trouble) == (1, None)
        broker.log_of(T0).syncing.release()
        broker.committer.for_directory(LOG_DIR).request_sync(rig.partition)
        await rig.step()
        assert rig.leader.told == 1


async def test_without_commit_the_end_is_told_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step()
        assert rig.ends == (1, 1)
        assert broker.log_of(T0).unflushed_count == 1
        await rig.step()
        assert rig.leader.told == 1


async def test_a_leader_that_cannot_be_asked_is_asked_again(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        for error in (ConnectionError("nobody there"), UnknownServerError("odd")):
            rig.leader.error = error
            assert await rig.fetcher._step() > 0
            assert rig.fetcher.trouble == str(error)
        rig.leader.error = None
        assert await rig.fetcher._step() == 0
        assert (rig.ends[0], rig.fetcher.trouble) == (1, None)


async def test_nobody_is_asked_for_nothing(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.forget(T0)
        assert await rig.fetcher._step() > 0
        assert not rig.leader.requests


async def test_one_partition_that_cannot_be_taken_keeps_no_other(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        first = rig.followed

        async def take(*_: Any) -> None:
            raise IndexError("nobody thought of that")

        rig.followed.take = take  # type: ignore[method-assign]
        assert await rig.fetcher._step() == 0, "the session goes on"
        assert [type(each) for each in broker.bugs] == [IndexError]
        assert "nobody thought of that" in (first.trouble or "")
        assert not first.is_due


async def test_a_log_that_is_read_for_long_keeps_nobody(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step(2)
    async with replicas(tmp_path, files) as broker:
        rig = Rig(broker)
        rig.decide(LEADER, 3)
        await rig.fetcher._decide_what_to_ask()
        assert not rig.followed.is_open
        assert not rig.fetcher._session.wanted
        await asyncio.gather(*rig.fetcher._opening.values())
        await rig.fetcher._decide_what_to_ask()
        (asked,) = rig.fetcher._session.wanted.values()
        assert asked.offset == 1


async def test_who_takes_in_too_much_waits_until_it_has_caught_up(
    tmp_path: Path,
) -> None:
    """The part that all replicas in sync have is behind; what is in sync is not."""
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.throttle.follow(10, 11, 1)  # bytes a second; a batch has more
        rig.leader.append(b"a", epoch=3)
        await rig.step(3)
        assert len(rig.leader.requests) == 3  # the topic names no replica
        names = {"follower.replication.throttled.replicas": f"0:{US}"}
        await broker.topics.alter_options("t", lambda _: names)
        rig.leader.append(b"b", epoch=3)
        await rig.step(2)
        assert (rig.ends[0], len(rig.leader.requests)) == (2, 5)
        rig.leader.append(b"c", epoch=3)
        replication: Any = rig.partition.replication
        replication.high_watermark = 3
        await rig.step(2)
        assert (rig.ends[0], len(rig.leader.requests)) == (2, 5)
        broker.clock.advance(11_000)
        await rig.step()
        assert rig.ends[0] == 3
