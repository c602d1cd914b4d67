from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import CorruptMessage, ErrorCode
from odradek.protocol.messages.fetch import PartitionData
from odradek.storage.values.log_read import FetchIsolation
from tests.broker.cluster.fetchers.rig import LEADER, T0, US, Rig, rig_of
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, replicas


def read(rig: Rig) -> bytes:
    view = rig.partition.view
    found, offset = b"", view.log_start_offset
    while offset < view.log_end_offset:
        data = view.read(offset, 1 << 20, FetchIsolation.LOG_END, True, True)
        found += bytes(data.records)
        offset = view.log_end_offset
    return found


async def test_the_log_becomes_the_leaders_byte_for_byte(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=1)
        rig.leader.append(b"b", epoch=3)
        rig.leader.append(b"c", epoch=3, offset=7)  # a gap of a compaction
        await rig.step(2)
        assert read(rig) == rig.leader.log.data
        assert rig.throttle.copied.count == len(rig.leader.log.data)
        assert rig.ends == (8, 8)
        assert broker.log_of(T0).latest_epoch == 3
        request = rig.leader.requests[-1]
        assert (request.replica_state.replica_id, rig.leader.told) == (US, 8)
        assert request.replica_state.replica_epoch == 77


async def test_what_not_all_copies_hold_is_not_to_be_read(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        rig.leader.append(b"b", epoch=3)
        rig.leader.high_watermark = 1
        await rig.step(2)
        assert rig.ends == (2, 1)
        rig.leader.high_watermark = 2
        await rig.step()
        assert rig.ends == (2, 2)
        rig.leader.high_watermark = 1  # a new leader may know less at first
        await rig.step()
        assert rig.ends == (2, 2)


async def test_t170_the_leaders_marks_are_taken_behind_its_records(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step(2)
        assert rig.ends == (1, 1)
        rig.leader.append(b"b", epoch=3)
        rig.leader.append(b"c", epoch=3)
        rig.leader.log.start = 1
        rig.leader.high_watermark = 2
        await rig.step(2)
        assert rig.ends == (3, 2)
        assert rig.partition.view.log_start_offset == 1


async def test_where_the_histories_part_the_log_is_cut(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        rig.leader.append(b"lost", epoch=3)
        rig.leader.high_watermark = 1
        await rig.step(2)
        rig.leader.log.cut(1)
        rig.leader.append(b"b", epoch=4)
        rig.leader.append(b"c", epoch=4)
        rig.leader.high_watermark = None
        rig.decide(LEADER, 4)
        await rig.step(3)
        assert read(rig) == rig.leader.log.data
        assert rig.ends == (3, 3)


async def test_batches_of_a_later_epoch_are_left_to_who_leads_in_it(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        rig.leader.append(b"b", epoch=4)
        await rig.step(2)
        assert rig.ends == (1, 1)
        rig.decide(LEADER, 4)
        await rig.step(2)
        assert rig.ends == (2, 2)


async def test_who_is_behind_the_leaders_start_begins_there(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.log.start = rig.leader.log.end = 100
        rig.leader.append(b"a", epoch=3)
        await rig.step(3)
        assert rig.ends == (101, 101)
        assert rig.partition.view.log_start_offset == 100
        assert rig.followed.trouble is None


async def test_what_the_leader_has_deleted_goes_here_too(tmp_path: Path) -> None:
    """Behind the records of the same answer, and no further than all copies hold."""
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        for value in (b"a", b"b", b"c"):
            rig.leader.append(value, epoch=3)
        rig.leader.high_watermark = 1
        await rig.step(2)
        assert rig.ends == (3, 1)
        rig.leader.log.start = 2
        await rig.step()
        assert rig.partition.view.log_start_offset == 1
        rig.leader.high_watermark = None
        await rig.step()
        assert rig.partition.view.log_start_offset == 2
        assert rig.ends == (3, 3)


async def test_t168_who_is_empty_begins_with_the_batch_that_the_leader_begins_in(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", b"b", b"c", epoch=3)
        rig.leader.log.start = 2  # by DeleteRecords, inside of the batch
        await rig.step(3)
        assert rig.ends == (3, 3)
        assert read(rig) == rig.leader.log.data
        assert rig.partition.view.log_start_offset == 2
        assert rig.followed.trouble is None


async def test_batches_out_of_order_are_not_taken(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        for value in (b"a", b"b", b"c"):
            rig.leader.append(value, epoch=3)
        rig.leader.log.batches.reverse()
        await rig.step()
        assert rig.ends == (0, 0)
        assert rig.followed.trouble
        assert not rig.followed.is_due


async def test_who_has_lost_its_directory_takes_all_from_the_leader(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step(2)
    files.rmtree(LOG_DIR / str(T0))
    async with replicas(tmp_path, files) as broker:
        assert broker.topics.offline == {T0}
        rig = Rig(broker)
        rig.leader.append(b"a", epoch=3)
        rig.decide(LEADER, 3)
        await rig.step(2)
        assert rig.ends == (1, 1)
        assert not broker.topics.offline
        assert "all of it is taken from its leader" in caplog.text


async def test_a_refusal_is_asked_again_in_a_while(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        rig.leader.code = ErrorCode.UNKNOWN_LEADER_EPOCH
        await rig.step()
        assert "the leader answers" in (rig.followed.trouble or "")
        rig.leader.code = 0
        await rig.step()
        assert rig.ends == (0, 0)
        broker.clock.advance(1_000)
        await rig.step(2)
        assert (rig.ends, rig.followed.trouble) == ((1, 1), None)


async def test_an_answer_of_another_epoch_is_not_used(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        old = rig.followed
        asked = old.asked()
        assert asked is not None
        answer = rig.leader.log.answer(asked)  # type: ignore[arg-type]
        rig.decide(LEADER, 4)
        await old.take(asked, answer, rig.fetcher._ends)
        assert rig.ends == (0, 0)


async def test_who_led_goes_on_as_a_follower(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        await rig.step(2)
        rig.decide(US, 5, US)
        assert broker.log_of(T0).latest_epoch == 5
        rig.leader.append(b"b", epoch=6)
        rig.decide(LEADER, 6)
        await rig.step(3)
        assert read(rig) == rig.leader.log.data


async def test_a_start_begins_with_the_high_watermark_that_was_known(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        rig.leader.append(b"b", epoch=3)
        rig.leader.high_watermark = 1
        await rig.step(2)
    async with replicas(tmp_path, files) as broker:
        rig = Rig(broker)
        rig.decide(LEADER, 3)
        await broker.manager.open([T0])
        assert rig.ends == (2, 1)
        assert broker.log_of(T0).latest_epoch == 3


async def test_a_refusal_is_asked_again_after_the_same_time(tmp_path: Path) -> None:
    """A leader that is well again must not wait for us longer than it puts up with."""
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.code = ErrorCode.CORRUPT_MESSAGE
        for _ in range(10):
            await rig.step()
            assert not rig.followed.is_due
            broker.clock.advance(1_000)
            assert rig.followed.is_due


async def wait_ms(rig: Rig, step_ms: int) -> int:
    """Ask once; how long until it is due again, looked at every ``step_ms``."""
    await rig.step()
    clock = rig.broker.clock
    began_ms = clock.monotonic_ms()
    while not rig.followed.is_due:
        clock.advance(step_ms)
    return clock.monotonic_ms() - began_ms


@pytest.mark.parametrize(
    "codes",
    [
        [ErrorCode.UNKNOWN_TOPIC_ID],
        [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_LEADER_EPOCH],
    ],
)
async def test_a_leader_that_has_not_heard_yet_is_asked_again_soon(
    tmp_path: Path, codes: list[ErrorCode]
) -> None:
    """A new topic must not wait for a second because we heard of it first."""
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        waits_ms = []
        for number in range(8):
            rig.leader.code = codes[number % len(codes)]
            waits_ms.append(await wait_ms(rig, 10))
        assert waits_ms == [20, 40, 80, 160, 320, 640, 1_000, 1_000]


async def test_records_that_cannot_be_taken_are_asked_for_ever_later(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)

        def refuse(*_: Any) -> None:
            raise CorruptMessage

        rig.replicas.append = refuse  # type: ignore[method-assign, assignment]
        waits_ms = [await wait_ms(rig, 500) for _ in range(8)]
        assert waits_ms == [1_000, 2_000, 4_000, 8_000, *[10_000] * 4]


async def test_an_offset_that_is_not_out_of_range_is_not_asked_for_at_once(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        rig.leader.code = ErrorCode.OFFSET_OUT_OF_RANGE
        await rig.step()
        assert "the leader has 0 to 1" in (rig.followed.trouble or "")
        assert not rig.followed.is_due


async def test_nothing_is_cut_that_was_not_asked_about(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        rig = await rig_of(broker)
        rig.leader.append(b"a", epoch=3)
        asked = rig.followed.asked()
        assert asked is not None

        async def find_ends(_: Any) -> tuple[int, int]:
            rig.leader.code = 0
            await rig.step()  # the record comes while the leader is asked
            return 100, 200

        answer = PartitionData(
            partition_index=0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE
        )
        await rig.followed.take(asked, answer, find_ends)
        assert rig.ends[0] == 1
