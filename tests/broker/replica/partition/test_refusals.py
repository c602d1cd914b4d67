import errno
from pathlib import Path

import pytest

from odradek.broker.replica.partition.refusals import Refusals, Refused
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import Buffer
from odradek.storage.validation.validator import Flaw
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.storage.produced_batches import changed

NOWHERE = TopicPartition("nowhere", 0)


def code_of(broker: Replicas, place: TopicPartition, batch: Buffer) -> int:
    """What an append of ``batch`` is answered."""
    results = broker.manager.append_records({place: batch}, acks=1, timeout_ms=1000)
    return int(results[place].error_code)


def refusals(broker: Replicas) -> Refusals:
    return broker.manager.appends.refusals


def refused(broker: Replicas, place: TopicPartition) -> tuple[int, int, int]:
    found = broker.manager.partition(place).refused or Refused()
    return found.count, found.failed_count, found.rejected_bytes


def good() -> bytearray:
    return bytearray(batch_of(b"v"))


def with_byte(position: int, value: int) -> bytearray:
    batch = good()
    batch[position] = value
    return batch


OUT_OF_ORDER = Flaw.OFFSET_OR_SEQUENCE
CORRUPT, INVALID = ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD
WRONG_SEQUENCE = {"producer_id": 5, "producer_epoch": 0, "base_sequence": -1}


@pytest.mark.parametrize(
    ("batch", "code", "flaw", "counted"),
    [
        (with_byte(16, 3), CORRUPT, Flaw.MAGIC, (0, 0, 0)),
        (with_byte(16, 1), INVALID, Flaw.MAGIC, (0, 0, 0)),
        (with_byte(-1, 77), CORRUPT, Flaw.CHECKSUM, (1, 0, 0)),
        (changed(good(), base_offset=7), INVALID, OUT_OF_ORDER, (1, 1, 0)),
        (changed(good(), last_offset_delta=1), INVALID, OUT_OF_ORDER, (1, 1, 0)),
        (changed(good(), **WRONG_SEQUENCE), INVALID, OUT_OF_ORDER, (1, 1, 0)),
    ],
)
async def test_what_is_wrong_with_a_batch_is_counted(
    tmp_path: Path,
    batch: bytearray,
    code: ErrorCode,
    flaw: Flaw,
    counted: tuple[int, int, int],
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        assert code_of(broker, t0, batch_of(b"v")) == ErrorCode.NONE
        assert not refusals(broker).flaws
        assert code_of(broker, t0, memoryview(batch)) == code
        assert refusals(broker).flaws == {flaw: 1}
        assert refused(broker, t0) == counted


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (b"", INVALID),
        (good()[:-1], INVALID),
        (good() * 2, INVALID),
        (changed(good(), batch_length=7), CORRUPT),
        (changed(good(), batch_length=40), CORRUPT),
    ],
)
async def test_what_is_not_one_batch_is_no_request(
    tmp_path: Path, batch: bytes, code: ErrorCode
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        assert code_of(broker, t0, batch) == code
        assert refused(broker, t0) == (0, 0, 0)


async def test_records_without_the_key_that_they_need_are_counted(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(cleanup_policy="compact")
        plain = await broker.create_topic("plain")
        keyless = batch_of(b"a", b"b", key=None)
        assert code_of(broker, plain, bytearray(keyless)) == ErrorCode.NONE
        assert refusals(broker).keyless_count == 0
        assert code_of(broker, t0, keyless) == ErrorCode.INVALID_RECORD
        assert refusals(broker).keyless_count == 2
        late = batch_of(b"a", b"b", b"c", key=None, timestamp=1, step_ms=1)
        await broker.topics.alter_options(
            "t", lambda known: {**known, "message.timestamp.before.max.ms": "1000"}
        )
        assert code_of(broker, t0, late) == ErrorCode.INVALID_RECORD
        assert refusals(broker).keyless_count == 5


async def test_bytes_of_what_is_too_large_are_counted(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(max_message_bytes="1000")
        t1 = await broker.create_topic(
            "t1", segment_bytes="1048576", max_message_bytes="3000000"
        )
        batch, larger = batch_of(bytes(1000)), batch_of(bytes(2_000_000))
        assert code_of(broker, t0, batch) == ErrorCode.MESSAGE_TOO_LARGE
        assert code_of(broker, t1, larger) == ErrorCode.RECORD_LIST_TOO_LARGE
        assert refused(broker, t0) == (1, 0, len(batch))
        assert refused(broker, t1) == (1, 0, len(larger))


async def test_what_is_for_no_partition_is_no_request(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        code = code_of(broker, NOWHERE, batch_of(b"v"))
        assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert not refusals(broker).flaws


async def test_records_of_clients_for_an_internal_topic_are_no_failure(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic("__consumer_offsets")
        code = code_of(broker, place, batch_of(b"v"))
        assert code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert refused(broker, place) == (1, 0, 0)


async def test_a_disk_without_room_is_a_failure(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        assert code_of(broker, t0, batch_of(b"v")) == ErrorCode.NONE
        files.fail("append", error=errno.ENOSPC)
        assert code_of(broker, t0, batch_of(b"v")) == ErrorCode.KAFKA_STORAGE_ERROR
        assert refused(broker, t0) == (1, 1, 0)
