import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odradek.protocol.errors import UnknownServerError
from odradek.storage.files.files import StorageFailure
from tests.broker.cluster.fetchers.rig import (
    LEADER,
    T0,
    US,
    FakeConnection,
    Rig,
    rig_of,
)
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


class Talk:
    """A leader with whom bytes are spoken; ``turns`` is what happens, answer by answer.

    Behind the last one the fetcher looks around, as it does from time to time.
    """

    def __init__(self, rig: Rig, *turns: Callable[[], object]) -> None:
        self._rig, self._turns = rig, list(turns)
        rig.leader.connection = FakeConnection()
        rig.leader.meanwhile = self._next

    def _next(self) -> None:
        if self._turns:
            self._turns.pop(0)()
        if not self._turns:
            self._rig.broker.clock.advance(1_000)

    @property
    def offsets(self) -> list[list[int]]:
        """Which offsets each request has named."""
        return [
            [y.fetch_offset for x in each.topics for y in x.partitions]
            for each in self._rig.leader.requests
        ]


def brings(rig: Rig, *values: bytes, epoch: int = 3) -> Callable[[], None]:
    return lambda: rig.leader.append(*values, epoch=epoch)


def nothing() -> None:
    """Nobody has written."""


async def test_one_answer_follows_from_the_other(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        b, c = brings(rig, b"b"), brings(rig, b"c", b"d")
        talk = Talk(rig, nothing, b, c, nothing, nothing)
        await rig.step()
        assert rig.ends[0] == 1  # the first begins the session
        await rig.step()
        assert rig.ends == (4, 4)
        assert talk.offsets == [[0], [1], [2], [4], []]
        epochs = [each.session_epoch for each in rig.leader.requests]
        assert epochs == [0, 1, 2, 3, 4]
        assert rig.throttle.copied.count == len(rig.leader.log.data)


async def test_a_later_epoch_is_taken_in_full(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=2)
        talk = Talk(rig, nothing, brings(rig, b"b", epoch=3))
        await rig.step(2)
        assert rig.ends == (2, 2)
        assert broker.log_of(T0).latest_epoch == 3
        assert talk.offsets == [[0], [1]]


async def test_what_a_leader_refuses_is_read_in_full(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)

        def refuse() -> None:
            rig.leader.code = 56

        Talk(rig, nothing, brings(rig, b"b"), refuse)
        await rig.step(2)
        assert rig.ends[0] == 2
        assert rig.followed.trouble is not None
        assert not rig.followed.is_due


async def test_what_is_followed_no_longer_is_told(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        Talk(rig, nothing, brings(rig, b"b"), lambda: rig.forget(T0))
        await rig.step(2)
        assert rig.ends[0] == 2
        rig.decide(LEADER, 4)
        await rig.fetcher._decide_what_to_ask()
        said = rig.fetcher._session.next_request()
        assert [each.leader_epoch for each in said.named] == [4]


async def test_on_the_disk_first_each_answer_is_for_itself(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        talk = Talk(rig, nothing, brings(rig, b"b"), brings(rig, b"c"), nothing)
        await rig.step()
        for end in (2, 3):
            await rig.step()
            assert rig.ends == (end, end - 1)  # which its leader has been told
        assert talk.offsets == [[0], [1], [2]]


async def test_a_bug_with_one_partition_ends_no_session(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        Talk(rig, nothing, brings(rig, b"b"))
        await rig.step()

        def take_usual(*_: Any) -> bool:
            raise IndexError("nobody thought of that")

        rig.followed.take_usual = take_usual  # type: ignore[method-assign]
        assert await rig.fetcher._step() == 0
        assert [type(each) for each in broker.bugs] == [IndexError]
        assert not rig.followed.is_due
        assert not rig.fetcher._session.is_full


async def test_who_does_not_answer_a_usual_fetch_is_asked_in_full(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)

        def hang_up() -> None:
            rig.leader.error = ConnectionError("gone")

        talk = Talk(rig, nothing, brings(rig, b"b"), hang_up)
        await rig.step()
        assert await rig.fetcher._step() > 0
        assert rig.fetcher.trouble == "gone"
        rig.leader.error = None
        await rig.step()
        assert rig.fetcher.trouble is None
        assert talk.offsets[-1] == [2]
        assert rig.leader.requests[-1].session_epoch == 0


async def test_a_broker_that_has_to_log_in_again_leaves_the_loop(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="interval") as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        talk = Talk(rig, nothing, brings(rig, b"b"), nothing, nothing)
        await rig.step()
        assert rig.leader.connection is not None
        rig.leader.connection.is_prompt = False
        await rig.step()
        assert talk.offsets == [[0], [1]]
