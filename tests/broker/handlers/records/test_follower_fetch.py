import asyncio
from pathlib import Path
from typing import Any

from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.follower_fetch import GATHERED_SIZE
from odradek.broker.replica.partition.replication import Replication
from odradek.broker.replica.waiting.follower_reads import HURRIED_WAIT_MS, LOOK_MS
from odradek.broker.replica.waiting.gathering import GATHERING_MS
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, ForgottenTopic
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.answers import fetched
from tests.fakes.led_with_another import OTHER, LedWithAnother
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas

from .test_fetch import at, filled, request

WAIT_MS = 500


class Following:
    """Broker 2 follows the partitions of a topic by one session."""

    def __init__(self, broker: Replicas, partitions: int) -> None:
        self.broker = broker
        self.led = [
            LedWithAnother(broker, TopicPartition("t", each))
            for each in range(partitions)
        ]
        self.session_id = self.epoch = 0

    def ask(self, *wanted: Any, **fields: Any) -> Any:
        named = [("t", each) for each in wanted]
        fields = {"max_wait_ms": WAIT_MS, "replica_id": OTHER} | fields
        asked: FetchRequest = request(
            *named, session_id=self.session_id, session_epoch=self.epoch, **fields
        )
        return self.give(asked)

    def give(self, asked: FetchRequest) -> Any:
        self.epoch += 1
        return handle_fetch(self.broker.context(12), asked)

    def begin(self, *wanted: Any) -> None:
        answer = fetched(self.ask(*wanted, max_wait_ms=0), 12)
        self.session_id = answer.session_id
        assert self.session_id

    def append(self, partition: int) -> None:
        key = TopicPartition("t", partition)
        self.broker.manager.append_records(
            {key: batch_of(b"v")}, acks=1, timeout_ms=1000
        )

    def end(self, partition: int) -> int:
        replication = self.led[partition].partition.replication
        assert isinstance(replication, Replication)
        return replication.followers[OTHER].end.offset


def told(answer: Any) -> dict[int, tuple[list[int], int]]:
    """The base offsets that came of each partition, and its high watermark."""
    answer = fetched(answer, 12)
    assert answer.error_code == ErrorCode.NONE
    return {
        each.partition_index: (base_offsets(each.records), each.high_watermark)
        for topic in answer.responses
        for each in topic.partitions
    }


async def test_it_is_told_what_has_changed_alone(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        await filled(broker, batches=1, partitions=3)
        follower = Following(broker, 3)
        follower.begin(*(at(1, each) for each in range(3)))
        waiting = follower.ask()
        assert isinstance(waiting, Parked)
        follower.append(1)
        follower.append(2)
        assert not waiting.is_done  # what comes in this turn is one answer
        assert set(told(await waiting)) >= {1, 2}
        waiting = follower.ask(at(2, 1), at(2, 2))
        assert isinstance(waiting, Parked)
        assert (follower.end(1), follower.end(2)) == (2, 2)
        follower.append(0)
        # The watermarks that its own fetch has raised come with the next records.
        assert told(await waiting) == {0: ([1], 1), 1: ([], 2), 2: ([], 2)}
        assert told(follower.ask(at(2, 0), at(1, 1))) == {1: ([1], 2)}


async def test_records_that_had_no_room_come_next(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=2)
        follower = Following(broker, 2)
        follower.begin(at(1, 0), at(1, 1))
        follower.append(0)
        follower.append(1)
        (first,) = (
            each
            for each, (offsets, _) in told(follower.ask(max_bytes=1)).items()
            if offsets
        )
        other = 1 - first
        answer = told(follower.ask(at(2, first), max_bytes=1))
        assert answer[other] == ([1], 1)


async def test_all_are_looked_at_from_time_to_time(tmp_path: Path) -> None:
    """Else the leader would take for dead who follows what nobody writes to."""
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=2)
        follower = Following(broker, 2)
        follower.begin(at(1, 0), at(1, 1))
        seen = []
        for led in follower.led:
            replication = led.partition.replication
            assert isinstance(replication, Replication)
            replication.note_fetch = lambda *args: seen.append(args)  # type: ignore
        assert isinstance(follower.ask(at(1, 0)), Parked)
        assert len(seen) == 1
        broker.clock.advance(max(LOOK_MS, WAIT_MS) + 100)
        assert isinstance(follower.ask(at(1, 0)), Parked)
        assert len(seen) == 3


async def test_its_time_is_over(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1)
        follower = Following(broker, 1)
        follower.begin(at(1))
        waiting = follower.ask()
        broker.clock.advance(WAIT_MS + 100)
        assert not any(offsets for offsets, _ in told(await waiting).values())
        assert not broker.manager.fetches.delayed_count


async def test_who_leads_no_more_says_so_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1)
        follower = Following(broker, 1)
        follower.begin(at(1))
        waiting = follower.ask()
        follower.led[0].elect(OTHER)
        answer = fetched(await waiting, 12)
        (found,) = answer.responses[0].partitions
        assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_what_it_forgets_is_told_no_more(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=2)
        follower = Following(broker, 2)
        follower.begin(at(1, 0), at(1, 1))
        asked = request(
            session_id=follower.session_id,
            session_epoch=follower.epoch,
            replica_id=OTHER,
            max_wait_ms=WAIT_MS,
        )
        asked.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[1])]
        waiting = follower.give(asked)
        follower.append(1)
        await asyncio.sleep(0)
        follower.append(0)
        answer = told(await waiting) if isinstance(waiting, Parked) else told(waiting)
        assert 1 not in answer


async def test_who_wants_more_than_any_record_waits_for_so_much(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1)
        follower = Following(broker, 1)
        follower.begin(at(1))
        waiting = follower.ask(min_bytes=1 << 20)
        follower.append(0)
        await asyncio.sleep(0)
        assert not waiting.is_done
        broker.clock.advance(WAIT_MS + 100)
        assert told(await waiting)[0][0] == [1]


async def test_what_it_is_to_follow_besides_it_names_soon(tmp_path: Path) -> None:
    """Who waits for records of others has not looked whether there is one more."""
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=2)
        follower = Following(broker, 1)
        follower.begin(at(1, 0))
        waiting = follower.ask()
        assert isinstance(waiting, Parked)
        LedWithAnother(broker, TopicPartition("t", 1))
        await asyncio.sleep(0)
        assert waiting.is_done
        waiting = follower.ask()  # it has not heard of it yet
        broker.clock.advance(HURRIED_WAIT_MS)
        await asyncio.sleep(0)
        assert waiting.is_done
        told(follower.ask(at(1, 1), max_wait_ms=0))
        waiting = follower.ask()
        broker.clock.advance(WAIT_MS - 1)
        await asyncio.sleep(0)
        assert not waiting.is_done
        broker.clock.advance(1)


async def test_who_reads_by_several_sessions_hears_of_it_in_each(
    tmp_path: Path,
) -> None:
    """``num.replica.fetchers``: which of them takes it, the follower decides."""
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=3)
        followers = [Following(broker, 2) for _ in range(2)]
        for number, follower in enumerate(followers):
            follower.begin(at(1, number))
        waiting = [follower.ask() for follower in followers]
        assert all(isinstance(each, Parked) for each in waiting)
        LedWithAnother(broker, TopicPartition("t", 2))
        await asyncio.sleep(0)
        assert all(each.is_done for each in waiting)


async def test_it_waits_for_those_who_were_acknowledged(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        follower, answers = await acknowledged_by_it(broker, 2)
        waiting = follower.ask(*(at(2, each) for each in range(2)))
        assert all(each.is_done for each in answers)
        follower.append(0)
        await asyncio.sleep(0)
        assert not waiting.is_done
        follower.append(1)
        assert set(told(await waiting)) == {0, 1}
        waiting = follower.ask(*(at(3, each) for each in range(2)))
        follower.append(0)  # that of acks=1 waited for nobody
        await asyncio.sleep(0)
        assert waiting.is_done


async def test_it_does_not_wait_long_for_who_does_not_come(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        follower, _ = await acknowledged_by_it(broker, 2)
        waiting = follower.ask(*(at(2, each) for each in range(2)))
        follower.append(0)
        broker.clock.advance(GATHERING_MS)
        await asyncio.sleep(0)
        assert told(waiting.result())[0] == ([2], 2)


async def test_what_is_large_waits_for_nobody(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        follower, answers = await acknowledged_by_it(broker, 2)
        key = TopicPartition("t", 0)
        large = {key: batch_of(bytes(GATHERED_SIZE))}
        broker.manager.append_records(large, acks=-1, timeout_ms=1000)
        answer = follower.ask(*(at(2, each) for each in range(2)))
        assert all(each.is_done for each in answers)
        assert told(answer)[0][0] == [2]


async def acknowledged_by_it(
    broker: Replicas, partitions: int
) -> tuple[Following, list[Any]]:
    """A follower that has one more record of each; who wrote that waits for it."""
    await filled(broker, batches=1, partitions=partitions)
    follower = Following(broker, partitions)
    follower.begin(*(at(1, each) for each in range(partitions)))
    waiting = follower.ask()
    answers = [
        broker.manager.append_records(
            {TopicPartition("t", each): batch_of(b"v")}, acks=-1, timeout_ms=1000
        )
        for each in range(partitions)
    ]
    await waiting
    return follower, answers
