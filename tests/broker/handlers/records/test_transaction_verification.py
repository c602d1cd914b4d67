"""Produce in a transaction, with a coordinator that says what the test wants."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.handlers.records.transaction_verification import (
    refused_by_coordinator,
)
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, InvalidProducerIdMapping
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.verification_rig import (
    ID,
    PRODUCER,
    T0,
    T1,
    T2,
    codes_of,
    data,
    produce,
    rig,
)
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import batch_of


@pytest.mark.parametrize(("version", "client_version"), [(9, 0), (11, 0), (12, 2)])
async def test_the_coordinator_is_asked_where_a_transaction_begins(
    tmp_path: Path, version: int, client_version: int
) -> None:
    async with rig(tmp_path) as it:
        assert await it.codes(produce((T0, data())), version) == {0: 0}
        asked = Addition(ID, PRODUCER, (T0,), client_version)
        assert it.coordinator.asked == [asked]
        both = produce((T0, data(1)), (T1, data()), (T2, batch_of(b"v")))
        assert await it.codes(both, version) == {0: 0, 1: 0, 2: 0}
        asked = Addition(ID, PRODUCER, (T1,), client_version)
        assert it.coordinator.asked[1:] == [asked], "it is open in the other one"
        both = produce((T0, data(2)), (T1, data(1)), acks=-1)
        assert await it.codes(both, version) == {0: 0, 1: 0}
        assert len(it.coordinator.asked) == 2
        assert (it.end_offset(T0), it.end_offset(T1)) == (3, 2)


async def test_only_an_open_transaction_of_the_same_epoch_goes_without(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        await it.codes(produce((T0, data())))
        it.coordinator.codes = {T0: ErrorCode.PRODUCER_FENCED}
        assert await it.codes(produce((T0, data(epoch=1)))) == {0: 47}
        assert len(it.coordinator.asked) == 2
        it.mark()
        it.coordinator.codes = {T0: ErrorCode.TRANSACTION_ABORTABLE}
        assert await it.codes(produce((T0, data(1)))) == {0: 120}
        assert len(it.coordinator.asked) == 3
        assert it.end_offset() == 2


async def test_a_late_batch_of_an_older_epoch_is_fenced_without_asking(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        await it.codes(produce((T0, data())), 12)
        it.mark(epoch=1)
        await it.codes(produce((T0, data(epoch=1))), 12)
        assert await it.codes(produce((T0, data())), 12) == {0: 47}
        assert await it.codes(produce((T0, data(1, epoch=1))), 12) == {0: 0}
        assert len(it.coordinator.asked) == 2


async def test_a_retry_in_an_open_transaction_is_a_duplicate(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        await it.codes(produce((T0, data())))
        answer = await it.told(it.send(produce((T0, data()), acks=-1)))
        (again,) = answer.responses[0].partition_responses
        assert (again.error_code, again.base_offset) == (0, 0)
        assert (len(it.coordinator.asked), it.end_offset()) == (1, 1)


@pytest.mark.parametrize(
    ("code", "old", "abortable", "adding"),
    [
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 49, 49, 49),
        (ErrorCode.PRODUCER_FENCED, 47, 47, 47),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 19, 19, 51),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 19, 19, 19),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, 19, 19, 19),
        (ErrorCode.NOT_COORDINATOR, 19, 19, 19),
        (ErrorCode.TRANSACTION_ABORTABLE, 48, 120, 120),
        (ErrorCode.INVALID_TXN_STATE, 48, 48, 48),
        (ErrorCode.NONE, None, None, None),
    ],
)
def test_what_the_coordinator_says_in_words_of_produce(
    code: int, old: int | None, abortable: int | None, adding: int | None
) -> None:
    """As Apache Kafka 4.3 answers versions 10, 11 and 12 of Produce."""
    for version, expected in ((10, old), (11, abortable), (12, adding)):
        refused = refused_by_coordinator({T0: code}, version)
        codes = [each.error_code for each in refused.values()]
        assert codes == ([] if expected is None else [expected])


async def test_what_is_refused_leaves_the_request(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        it.coordinator.codes = {T1: ErrorCode.TRANSACTION_ABORTABLE}
        for acks in (1, -1):
            batches = (T0, data(acks == -1)), (T1, data()), (T2, batch_of(b"v"))
            asked = produce(*batches, acks=acks)
            assert await it.codes(asked, 9) == {0: 0, 1: 48, 2: 0}
        assert [it.end_offset(each) for each in (T0, T1, T2)] == [2, 0, 2]
        alone = produce((T1, data()), acks=-1)
        assert await it.codes(alone, 9) == {1: 48}
        assert it.broker.logs.get(T1) is None, "nothing was made for it"


@pytest.mark.parametrize("other", [(8, 0), (7, 1)])
async def test_batches_of_two_producers_are_refused_together(
    tmp_path: Path, other: tuple[int, int]
) -> None:
    async with rig(tmp_path) as it:
        second = data(producer_id=other[0], epoch=other[1])
        with pytest.raises(InvalidProducerIdMapping):
            it.send(produce((T0, data()), (T1, second), (T2, batch_of(b"v"))))
        assert [it.end_offset(each) for each in (T0, T1, T2)] == [0, 0, 0]
        assert it.coordinator.asked == []


async def test_plain_batches_of_another_producer_come_along(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        plain = batch_of(b"v", producer_id=8, producer_epoch=0, base_sequence=0)
        assert await it.codes(produce((T0, data()), (T1, plain))) == {0: 0, 1: 0}
        assert it.coordinator.asked == [Addition(ID, PRODUCER, (T0,))]


async def test_without_transactional_batches_nobody_is_asked(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        plain = batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
        assert await it.codes(produce((T0, plain))) == {0: 0}
        nobody = batch_of(b"v", is_transactional=True)  # Apache Kafka takes it too
        assert await it.codes(produce((T0, nobody))) == {0: 0}
        assert it.coordinator.asked == []


async def test_nothing_is_appended_before_the_coordinator_has_answered(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        asked = produce((T0, data()), (T2, batch_of(b"v")), acks=-1)
        task = await it.begin(asked)
        assert (it.end_offset(T0), it.end_offset(T2)) == (0, 0)
        it.coordinator.answer()
        parked = await task
        assert isinstance(parked, Parked), "the connection may go on now"
        assert (it.end_offset(T0), it.end_offset(T2)) == (1, 1)
        assert codes_of(await it.told(parked)) == {0: 0, 2: 0}


@pytest.mark.parametrize("was_written", [True, False])
async def test_t098_a_transaction_that_ends_meanwhile_gets_no_records(
    tmp_path: Path, was_written: bool
) -> None:
    """The guard is taken before the coordinator is asked."""
    async with rig(tmp_path) as it:
        if was_written:
            await it.codes(produce((T0, batch_of(b"v"))))
        end = it.end_offset()
        task = await it.begin(produce((T0, data())))
        it.mark()
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {0: ErrorCode.INVALID_TXN_STATE}
        assert it.end_offset() == end + 1
        assert await it.codes(produce((T0, data()))) == {0: 0}, "asked again"


@pytest.mark.parametrize(("version", "code"), [(11, 48), (12, 0)])
async def test_the_marker_of_the_transaction_before_may_come_meanwhile(
    tmp_path: Path, version: int, code: int
) -> None:
    """From version 12 on it has the epoch that the next transaction writes with."""
    async with rig(tmp_path) as it:
        await it.codes(produce((T0, data())), version)
        task = await it.begin(produce((T0, data(epoch=1))), version)
        it.mark(epoch=1)
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {0: code}


async def test_a_guard_holds_when_another_makes_the_log_meanwhile(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        task = await it.begin(produce((T0, data())))
        assert it.broker.logs.get(T0) is None
        assert await it.codes(produce((T0, batch_of(b"v")))) == {0: 0}
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {0: 0}
        assert it.end_offset() == 2


async def test_t099_of_two_that_wait_the_lower_sequence_is_first(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        late = await it.begin(produce((T0, data(5))))
        first = await it.begin(produce((T0, data(0))))
        waiting = it.coordinator.parked
        assert waiting is not None
        it.coordinator.parked = None
        late.cancel()
        assert await it.codes(produce((T0, data(5)))) == {0: 45}
        waiting.set_result({T0: 0})
        assert codes_of(await it.told(first)) == {0: 0}
        assert it.end_offset() == 1


async def test_what_takes_too_long_stores_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        batches = (T0, data()), (T1, batch_of(b"v"))
        task = await it.begin(produce(*batches, acks=-1))
        it.broker.clock.advance(29_999)
        await asyncio.sleep(0)
        assert not task.done()
        it.broker.clock.advance(1)
        timed_out = ErrorCode.REQUEST_TIMED_OUT
        assert codes_of(await it.told(task)) == {0: timed_out, 1: timed_out}
        it.coordinator.answer()
        await asyncio.sleep(0)
        assert (it.end_offset(T0), it.end_offset(T1)) == (0, 0)
        # Who does not wait for a disk has no time for it to take.
        task = await it.begin(produce((T0, data())))
        it.broker.clock.advance(100_000)
        await asyncio.sleep(0)
        assert not task.done()
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {0: 0}


async def test_a_coordinator_that_fails_is_an_error_of_the_request(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        timer_count = it.broker.clock.timer_count
        task = await it.begin(produce((T0, data()), acks=-1))
        assert it.coordinator.parked is not None
        it.coordinator.parked.set_exception(RuntimeError("expected by this test"))
        with pytest.raises(RuntimeError):
            await task
        assert it.end_offset() == 0
        assert it.broker.clock.timer_count == timer_count


async def test_an_empty_transactional_id_is_invalid(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        asked = produce((T0, data()), transactional_id="")
        assert await it.codes(asked) == {0: ErrorCode.INVALID_REQUEST}
        assert it.coordinator.asked == []


async def test_a_partition_that_takes_no_records_is_not_added(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        unknown = TopicPartition("t", 9)
        codes = await it.codes(produce((unknown, data()), (T0, data())), 12)
        assert codes == {9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: 0}
        assert it.coordinator.asked == [Addition(ID, PRODUCER, (T0,), 2)]
        await it.broker.create_topic("__transaction_state")
        internal = TopicPartition("__transaction_state", 0)
        codes = await it.codes(produce((internal, data())), 12)
        assert codes == {0: ErrorCode.INVALID_TOPIC_EXCEPTION}
        assert len(it.coordinator.asked) == 1


async def test_a_topic_that_is_made_meanwhile_was_unknown(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        asked = produce((TopicPartition("new", 1), data()), (T0, data()))
        task = await it.begin(asked)
        await it.broker.create_topic("new", partitions=2)
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {
            1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            0: 0,
        }


async def test_acks_0_is_verified_and_closes_when_refused(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        assert it.send(produce((T0, data()), acks=0)) is NO_RESPONSE
        assert (it.end_offset(), it.broker.closed_count) == (1, 0)
        task = await it.begin(produce((T1, data()), acks=0))
        it.coordinator.answer()
        assert await task is NO_RESPONSE
        assert (it.end_offset(T1), it.broker.closed_count) == (1, 0)
        it.coordinator.codes = {T2: ErrorCode.TRANSACTION_ABORTABLE}
        assert it.send(produce((T2, data()), acks=0)) is NO_RESPONSE
        assert (it.end_offset(T2), it.broker.closed_count) == (0, 1)


async def test_a_log_on_disk_is_opened_before_its_coordinator_is_asked(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with rig(tmp_path, files) as it:
        await it.codes(produce((T0, data()), (T1, batch_of(b"v"))))
    async with rig(tmp_path, files) as it:
        both = produce((T0, data(1)), (T1, data()))
        assert await it.codes(both) == {0: 0, 1: 0}
        assert it.coordinator.asked == [Addition(ID, PRODUCER, (T1,))]
    async with rig(tmp_path, files) as it:
        it.coordinator.parked = Parked()
        task = asyncio.ensure_future(it.send(produce((T2, data()), (T1, data(1)))))
        while not it.coordinator.asked:
            await it.broker.threads.run(int)
        assert it.end_offset(T1) == 2
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {1: 0, 2: 0}


async def test_a_marker_before_the_log_is_opened_ends_the_transaction(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with rig(tmp_path, files) as it:
        await it.codes(produce((T0, data())))
        it.mark()
    async with rig(tmp_path, files) as it:
        it.coordinator.codes = {T0: ErrorCode.TRANSACTION_ABORTABLE}
        assert await it.codes(produce((T0, data(1)))) == {0: 120}


async def test_without_verification_only_version_12_asks(tmp_path: Path) -> None:
    async with rig(tmp_path, transaction_partition_verification_enable=False) as it:
        assert await it.codes(produce((T0, data()))) == {0: 0}
        assert it.coordinator.asked == []
        assert await it.codes(produce((T1, data())), 12) == {1: 0}
        assert it.coordinator.asked == [Addition(ID, PRODUCER, (T1,), 2)]


@pytest.mark.parametrize("is_made_again", [True, False])
async def test_a_topic_that_is_deleted_meanwhile_is_unknown(
    tmp_path: Path, is_made_again: bool
) -> None:
    async with rig(tmp_path) as it:
        topic = it.broker.topics.get("t")
        assert topic is not None
        asked = produce((T0, data()), (T1, batch_of(b"v")), acks=-1)
        asked.topic_data[0].topic_id = topic.topic_id
        task = await it.begin(asked, version=13)
        await it.delete_topic()
        if is_made_again:
            await it.broker.create_topic(partitions=3)
        it.coordinator.answer()
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        assert codes_of(await it.told(task, 13)) == {0: unknown, 1: unknown}


async def test_a_topic_may_be_deleted_while_its_log_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FakeFiles()
    async with rig(tmp_path, files) as it:
        await it.codes(produce((T0, data())))
    async with rig(tmp_path, files) as it:
        topic = it.broker.topics.get("t")
        assert topic is not None
        asked = produce((T0, data(1)), (T1, data()), acks=-1)
        asked.topic_data[0].topic_id = topic.topic_id
        opening = it.broker.manager.open

        async def open_late(partitions: list[TopicPartition]) -> None:
            await it.delete_topic()
            await opening(partitions)

        monkeypatch.setattr(it.broker.manager, "open", open_late)
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        assert await it.codes(asked, 13) == {0: unknown, 1: unknown}
        assert it.coordinator.asked == []


async def test_a_topic_that_is_made_again_takes_nothing_of_the_one_before(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        task = await it.begin(produce((T0, data())))
        await it.delete_topic()
        await it.broker.create_topic(partitions=3)
        it.coordinator.answer()
        assert codes_of(await it.told(task)) == {0: ErrorCode.INVALID_TXN_STATE}
        assert it.end_offset() == 0
