import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odradek.broker.control.waits import Waits
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import answer, append, commit, refused
from tests.fakes.replicas import Replicas, batch_of, replicas

# In turns of the loop: nothing here waits for time to pass.
TURNS = 20


class Waiting:
    """Somebody who waits."""

    def __init__(self, waits: Waits, until: str, **fields: Any) -> None:
        self.task = asyncio.ensure_future(
            answer(waits.requests(), "wait", until=until, **fields)
        )

    async def is_over(self) -> bool:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return self.task.done()

    async def goes_on_until(self, cause: Callable[[], Any]) -> None:
        """It does not end before ``cause``, and does then."""
        assert not await self.is_over()
        cause()
        assert await self.is_over()
        (item,) = await self.task
        assert item["waited_ms"] >= 0


def waits_of(broker: Replicas) -> Waits:
    return Waits(broker.services, [])


async def test_a_wait_ends_with_its_cause(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        waits = waits_of(broker)
        place = await broker.create_topic("t", 2)
        waiting = Waiting(waits, "records", topic="t", count=2)
        append(broker, place, batch_of(b"x"))
        other = TopicPartition("t", 1)
        await waiting.goes_on_until(lambda: append(broker, other, batch_of(b"x")))
        assert waits.changes.count == 0


async def test_what_holds_already_is_not_waited_for(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        append(broker, await broker.create_topic(), batch_of(b"x"))
        (item,) = await answer(
            waits_of(broker).requests(),
            "wait",
            until="records",
            topic="t",
            timeout_ms=0,
        )
        assert item["waited_ms"] < 1000


async def test_a_topic_that_is_yet_to_come_is_waited_for(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        waiting = Waiting(waits_of(broker), "records", topic="t")
        assert not await waiting.is_over()
        place = await broker.create_topic()
        await waiting.goes_on_until(lambda: append(broker, place, batch_of(b"x")))


async def test_with_commit_it_is_the_sync_that_is_waited_for(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        waiting = Waiting(waits_of(broker), "records", topic="t")
        append(broker, await broker.create_topic(), batch_of(b"x"))
        assert not await waiting.is_over()
        await broker.commit()
        assert await waiting.is_over()


async def test_offsets_are_waited_for_from_before_the_first_group(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic()
        waits = waits_of(broker)
        append(broker, place, batch_of(b"a", b"b"))
        committed = Waiting(waits, "committed", group="g", topic="t", offset=2)
        lag = Waiting(waits, "lag", group="g")
        assert not await committed.is_over()
        await broker.services.groups.create_topic()
        commit(broker, "g", place, 1)
        assert not await lag.is_over()
        await committed.goes_on_until(lambda: commit(broker, "g", place, 2))
        assert await lag.is_over()
        await broker.services.groups.close()


async def test_at_its_timeout_it_says_what_is_missing(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        append(broker, await broker.create_topic(), batch_of(b"x"))
        requests = waits_of(broker).requests()
        why = await refused(
            requests, "wait", until="records", topic="t", count=3, timeout_ms=1
        )
        assert why == "timeout: t has 1 of 3 records (after 1 ms)"
        why = await refused(requests, "wait", until="record", topic="t")
        assert why == "bad-request: until is 'record'; did you mean records?"
        why = await refused(requests, "wait", until="lag", group="g", topics="t")
        assert "did you mean topic?" in why


async def test_who_gives_up_leaves_nothing(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        waits = waits_of(broker)
        await broker.create_topic()
        waiting = Waiting(waits, "records", topic="t")
        assert not await waiting.is_over()
        assert waits.changes.count == 1
        waiting.task.cancel()
        assert await waiting.is_over()
        assert waits.changes.count == 0
        assert broker.manager.fetches.delayed_count == 0


async def test_other_subjects_add_what_can_be_waited_for(tmp_path: Path) -> None:
    class Calls:
        count = 0

        def places(self) -> tuple[TopicPartition, ...]:
            return ()

        def missing(self) -> str:
            return "" if self.count else "nothing was called"

        def end(self) -> None:
            """Nothing is held."""

    async with replicas(tmp_path) as broker:
        waits, calls = waits_of(broker), Calls()
        waits.conditions["calls"] = lambda fields: calls

        def call() -> None:
            calls.count += 1
            waits.changes.tell()

        await Waiting(waits, "calls").goes_on_until(call)
