import asyncio
from pathlib import Path

from odradek.protocol.errors import (
    ErrorCode,
    FencedStateEpoch,
    InvalidRecordState,
    KafkaError,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.replicas import base_offsets

from .rig import ACCEPT, RELEASE, ShareRig, settle, share_rig


async def begun(rig: ShareRig, partitions: int = 1, batches: int = 1) -> None:
    await rig.create_topic(partitions)
    await rig.set_options(auto_offset_reset="earliest")
    for partition in range(partitions):
        rig.states.begin(rig.key(partition))
        if batches:
            await rig.fill(batches, partition=partition)


async def test_records_are_handed_out_and_accepted(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        session = rig.open()
        reads = await rig.fetch(session)
        read = reads[rig.key()]
        assert read.acquired == [(0, 9, 1)]
        assert base_offsets(read.records) == [0]
        assert rig.say(session, 0, 9, ACCEPT) is None
        assert rig.states.states[rig.key()].start == 10
        assert await rig.acquired(session) == []


async def test_who_waits_gets_what_comes(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, batches=0)
        first, second = rig.ask(rig.open("a")), rig.ask(rig.open("b"))
        await settle()
        assert not first.done()
        await rig.fill(size=2)
        assert first.result()[rig.key()].acquired == [(0, 1, 1)]
        assert not second.done(), "there is nothing left"
        await rig.fill(size=3)
        assert second.result()[rig.key()].acquired == [(2, 4, 1)]


async def test_who_waits_gets_what_others_give_back(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        one, other = rig.open("a"), rig.open("b")
        assert await rig.acquired(one) == [(0, 9, 1)]
        waiting = rig.ask(other)
        rig.states.holds = True
        released = rig.say(one, 3, 4, RELEASE)
        await settle()
        assert not waiting.done(), "not before it is durable"
        rig.states.let_go()
        await settle()
        assert released.result() is None
        assert waiting.result()[rig.key()].acquired == [(3, 4, 2)]


async def test_g023_locks_end_and_others_get_the_records(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        one, other = rig.open("a"), rig.open("b")
        assert await rig.acquired(one) == [(0, 9, 1)]
        waiting = rig.ask(other, max_wait_ms=60_000)
        rig.clock.advance(29_999)
        await settle()
        assert not waiting.done()
        rig.clock.advance(1)
        await settle()
        assert waiting.result()[rig.key()].acquired == [(0, 9, 2)]
        late = rig.say(one, 0, 9, ACCEPT)
        assert isinstance(late, InvalidRecordState)
        assert rig.sharing.expired_count == 10


async def test_nothing_comes_and_the_time_is_over(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, batches=0)
        reads = await rig.fetch(rig.open(), max_wait_ms=100)
        assert [each.acquired for each in reads.values()] == [()]
        assert await rig.fetch(rig.open(), records_max=0) == {}
        assert await rig.fetch(rig.open(), max_bytes=0) == {}


async def test_a_session_is_over_and_all_that_it_had_is_free(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=2)
        one, other = rig.open("a", 0, 1), rig.open("b", 0, 1)
        assert len(await rig.acquired(one)) == 2
        waiting = rig.ask(other)
        rig.sharing.end(one)
        await settle()
        assert [each.acquired for each in waiting.result().values()] == [
            [(0, 9, 2)],
            [(0, 9, 2)],
        ]
        rig.sharing.end(one)  # there is nothing left to end


async def test_with_the_last_session_a_group_leaves_the_memory(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        one, other = rig.open("a"), rig.open("b")
        await rig.acquired(one)
        rig.sharing.end(one)
        assert len(rig.sharing.served()) == 1
        rig.sharing.end(other)
        assert rig.sharing.served() == []
        count = len(rig.states.written)
        rig.clock.advance(60_000)
        assert len(rig.states.written) == count, "no lock ends any more"
        assert await rig.acquired(rig.open("c")) == [(0, 9, 2)], "as it was written"


async def test_a_connection_is_lost(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        session = rig.open()
        await rig.acquired(session)
        waiting = rig.ask(session, max_wait_ms=60_000)
        rig.sharing.connection_lost(rig)
        assert len(rig.sharing.sessions) == 1, "soon, not inside of that"
        await settle()
        assert len(rig.sharing.sessions) == 0
        assert waiting.result() == {}
        rig.sharing.connection_lost(object())
        await settle()


async def test_who_asks_anew_waits_no_more_for_what_it_asked(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, batches=0)
        session = rig.open()
        old = rig.ask(session)
        new = rig.ask(session)
        assert old.result() == {}
        await settle()
        await rig.fill()
        assert new.result()[rig.key()].acquired == [(0, 9, 1)]


async def test_what_begins_anew_elsewhere_is_loaded_again(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        session = rig.open()
        assert await rig.acquired(session) == [(0, 9, 1)]
        waiting = rig.ask(session, max_wait_ms=60_000)
        rig.states.begin(rig.key(), start=4)
        await settle()
        assert waiting.result() == {}
        assert isinstance(rig.say(session, 0, 3, ACCEPT), InvalidRecordState)
        assert await rig.acquired(session) == [(4, 9, 1)]


async def test_who_was_outdated_loads_again(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        session = rig.open()
        await rig.acquired(session)
        rig.states.error = FencedStateEpoch()
        outcome = rig.say(session, 0, 3, ACCEPT)
        assert isinstance(outcome, KafkaError)
        assert outcome.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert rig.sharing.served() == []
        rig.states.error = None
        assert await rig.acquired(session) == [(0, 9, 1)]


async def test_a_group_that_has_not_begun_is_told(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        reads = await rig.fetch(rig.open())
        error = reads[rig.key()].error
        assert error is not None
        assert error.code == ErrorCode.INVALID_REQUEST
        assert rig.sharing.served() == [], "the next one looks again"
        rig.states.begin(rig.key(), 0)
        await rig.fill()
        assert await rig.acquired(rig.open()) == [(0, 9, 1)]


async def test_the_topic_is_deleted(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, batches=0)
        key, waiting = rig.key(), rig.ask(rig.open())
        await settle()
        await rig.broker.topics.begin_deletions([key.topic_id])
        await rig.broker.manager.stop([TopicPartition("t", 0)])
        error = waiting.result()[key].error
        assert isinstance(error, UnknownTopicOrPartition)


async def test_records_of_the_last_start_are_given_as_they_were_written(
    tmp_path: Path,
) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        session = rig.open()
        await rig.acquired(session)
        rig.say(session, 0, 4, ACCEPT)
        rig.say(session, 5, 6, RELEASE)
        rig.sharing.forget(rig.key())  # as a broker that was killed
        assert await rig.acquired(session) == [(5, 6, 2), (7, 9, 1)]


async def test_all_of_it_is_closed(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig)
        session = rig.open()
        await rig.acquired(session)
        waiting = rig.ask(session, max_wait_ms=60_000)
        rig.ask(rig.open("x"))
        loading = asyncio.ensure_future(rig.sharing.close())
        await loading
        assert waiting.result() == {}
        assert rig.sharing.served() == []
        assert rig.clock.timer_count <= 1, "that of the purgatory"


async def test_what_no_session_reads_any_more_leaves_the_memory(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=3)
        one, other = rig.open("a", 0, 1, 2), rig.open("b", 2)
        assert len(await rig.acquired(one)) == 3
        rig.sharing.sessions.update(one, [], [rig.key(1), rig.key(2)])
        rig.sharing.let_go([rig.key(1), rig.key(2), rig.key(7)])
        await settle()
        assert len(rig.sharing.served()) == 3, "the member still has its records"
        assert rig.say(one, 0, 9, ACCEPT, partition=1) is None
        await settle()
        assert [each.key.partition for each in rig.sharing.served()] == [0, 2]
        assert rig.states.states[rig.key(1)].start == 10
        rig.sharing.end(other)
        await settle()
        assert rig.say(one, 0, 9, RELEASE, partition=2) is None
        await settle()
        assert [each.key.partition for each in rig.sharing.served()] == [0]


async def test_what_is_led_anew_is_read_anew(tmp_path: Path) -> None:
    """Others may have led it meanwhile, and handed out what is behind."""
    async with share_rig(tmp_path) as rig:
        await begun(rig, partitions=2)
        session = rig.open("m", 0, 1)
        assert sorted(await rig.acquired(session)) == [(0, 9, 1), (0, 9, 1)]
        read_count = rig.states.read_count
        stored = rig.states.states[rig.key()]
        rig.states.states[rig.key()] = stored._replace(start=5)
        rig.sharing.forget_partition(TopicPartition("t", 0))
        refused = rig.say(session, 0, 9, ACCEPT)
        assert isinstance(refused, InvalidRecordState)
        assert await rig.acquired(session) == [(5, 9, 1)]
        assert rig.states.read_count == read_count + 1
