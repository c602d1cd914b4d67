"""Which records may be stored, what is changed in them, and what is said of others."""

from dataclasses import replace

import pytest

from odradek.protocol.errors import InvalidRecord, InvalidTimestamp, MessageTooLarge
from odradek.protocol.record_batch import (
    CODEC_NAMES,
    CONTROL,
    HAS_DELETE_HORIZON,
    LOG_APPEND_TIME,
    BatchHeader,
    check_crc,
    read_header,
)
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.storage.validation.validator import (
    InvalidRecords,
    InvalidTimestamps,
    RatioTooHigh,
)
from odradek.storage.values.log_config import LogConfig
from tests.storage.produced_batches import (
    CONFIG,
    COORDINATOR,
    HOUR,
    NOW,
    batch,
    changed,
    checked,
    with_deltas,
)

COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
LOG_APPEND = LogConfig(message_timestamp_type="LogAppendTime")
CODECS = range(1, 5)


# Records


@pytest.mark.parametrize("compression", range(5))
@pytest.mark.parametrize("deltas", [[1, 1, 2], [0, 2], [1, 2], [0, 0], [-1, 0]])
def test_t007_inner_offsets_not_consecutive_are_refused(
    deltas: list[int], compression: int
) -> None:
    with pytest.raises(InvalidRecord):
        checked(with_deltas(deltas, compression))


def test_bytes_behind_the_last_record_are_refused() -> None:
    sent = batch()
    with pytest.raises(InvalidRecord):
        checked(changed(sent + b"x", batch_length=len(sent) - 11))


@pytest.mark.parametrize("compression", CODECS)
def test_a_payload_that_is_not_compressed_so_is_refused(compression: int) -> None:
    with pytest.raises(InvalidRecord):
        checked(batch(attributes=compression))


@pytest.mark.parametrize("compression", [5, 6, 7])
def test_an_unknown_codec_is_refused(compression: int) -> None:
    with pytest.raises(InvalidRecord):
        checked(batch(attributes=compression))


@pytest.mark.parametrize("compression", CODECS)
def test_what_is_all_alike_is_taken_unless_an_option_refuses_it(
    compression: int,
) -> None:
    zeros = build_batch([NewRecord(None, bytes(4 << 20), NOW)], compression=compression)
    ratio = (4 << 20) // len(zeros)
    assert checked(zeros).batch == zeros
    assert checked(zeros, replace(CONFIG, decompressed_ratio_max=2 * ratio))
    with pytest.raises(RatioTooHigh, match=f"to {ratio // 2} times its size"):
        checked(zeros, replace(CONFIG, decompressed_ratio_max=ratio // 2))
    # Below 1 MiB no ratio is too high.
    few = build_batch([NewRecord(None, bytes(1 << 19), NOW)], compression=compression)
    assert checked(few, replace(CONFIG, decompressed_ratio_max=1))


@pytest.mark.parametrize("compression", CODECS)
def test_a_bomb_is_too_large(compression: int) -> None:
    bomb = build_batch([NewRecord(value=bytes(70 << 20))], compression=compression)
    with pytest.raises(MessageTooLarge):
        checked(bomb, replace(CONFIG, max_message_bytes=1 << 30))


@pytest.mark.parametrize("compression", range(5))
def test_t010_null_key_on_compacted_topic(compression: int) -> None:
    keys = [b"a", None, b"c", None, b"e"]
    sent = build_batch(
        [NewRecord(key, timestamp=NOW) for key in keys], compression=compression
    )
    assert checked(bytearray(sent))
    with pytest.raises(InvalidRecords) as raised:
        checked(sent, COMPACTED)
    text = "Compacted topic cannot accept message without key in topic partition t-0"
    assert raised.value.record_errors == [(1, text), (3, text)]
    assert raised.value.code == 87
    assert str(raised.value) == (
        "One or more records have been rejected due to 2 record errors in total, and"
        " only showing the first three errors at most: [RecordError(batchIndex=1,"
        f" message='{text}'), RecordError(batchIndex=3, message='{text}')]"
    )


# Timestamps


def at(*timestamps: int) -> bytearray:
    return build_batch(
        [NewRecord(b"k", timestamp=timestamp) for timestamp in timestamps]
    )


def test_t012_timestamp_bounds_are_strict() -> None:
    config = replace(CONFIG, message_timestamp_before_max_ms=1000)
    assert checked(at(NOW - 1000, NOW + HOUR), config)
    assert checked(at(-1, NOW), config)
    for timestamp in (NOW - 1001, NOW + HOUR + 1, -5):
        with pytest.raises(InvalidTimestamp):
            checked(at(timestamp), config)


def test_only_the_bad_timestamps_are_named() -> None:
    with pytest.raises(InvalidTimestamps) as raised:
        checked(at(NOW, NOW + 2 * HOUR, -1))
    error = raised.value
    lower = NOW - CONFIG.message_timestamp_before_max_ms
    assert error.record_errors == [
        (
            1,
            f"Timestamp {NOW + 2 * HOUR} of message with offset 1 is out of range."
            f" The timestamp should be within [{lower}, {NOW + HOUR}]",
        )
    ]
    assert (
        str(error) == "One or more records have been rejected due to invalid timestamp"
    )


def test_a_time_on_the_bounds_is_good_beside_one_that_is_not() -> None:
    config = replace(CONFIG, message_timestamp_before_max_ms=1000)
    with pytest.raises(InvalidTimestamps) as raised:
        checked(at(NOW - 1000, NOW + HOUR, NOW + HOUR + 1, NOW - 1001), config)
    assert [index for index, _ in raised.value.record_errors] == [2, 3]


def test_a_bad_timestamp_decides_the_code_and_all_are_listed() -> None:
    records = [
        NewRecord(None, timestamp=NOW),
        NewRecord(b"k", timestamp=NOW + 2 * HOUR),
    ]
    with pytest.raises(InvalidTimestamps) as raised:
        checked(build_batch(records), COMPACTED)
    assert [index for index, _ in raised.value.record_errors] == [0, 1]


def test_without_bounds_any_time_is_taken() -> None:
    assert checked(at(-1)).max_timestamp == -1
    assert checked(at(-5)).max_timestamp == -1  # as Apache Kafka stores it
    assert checked(at(0, 5)).max_timestamp == 5


def test_t013_log_append_time_bit_of_a_client_is_cleared() -> None:
    sent = batch(2, attributes=LOG_APPEND_TIME, max_timestamp=5)
    valid = checked(sent)
    stored = read_header(valid.batch)
    assert not stored.is_log_append_time
    assert stored.max_timestamp == valid.max_timestamp == NOW + 1
    assert check_crc(valid.batch, stored)


def test_its_records_are_judged_by_their_own_times() -> None:
    sent = changed(at(NOW + 2 * HOUR), attributes=LOG_APPEND_TIME, max_timestamp=NOW)
    with pytest.raises(InvalidTimestamps):
        checked(sent)


def test_the_clients_maximum_is_not_believed() -> None:
    valid = checked(batch(3, max_timestamp=NOW + HOUR))
    stored = read_header(valid.batch)
    assert stored.max_timestamp == NOW + 2
    assert check_crc(valid.batch, stored)


@pytest.mark.parametrize("compression", range(5))
def test_a_log_append_time_topic_stamps_its_own_clock(compression: int) -> None:
    valid = checked(batch(3, compression), LOG_APPEND)
    stored = read_header(valid.batch)
    assert stored.is_log_append_time
    assert (
        stored.max_timestamp == valid.max_timestamp == valid.log_append_time_ms == NOW
    )
    assert stored.compression == compression
    assert check_crc(valid.batch, stored)
    assert [record.timestamp for record in iterate(valid.batch)] == [NOW] * 3


def test_there_a_client_may_say_any_time() -> None:
    assert checked(at(NOW + 100 * HOUR), LOG_APPEND)


def test_a_delete_horizon_is_the_cleaners_alone() -> None:
    valid = checked(batch(attributes=HAS_DELETE_HORIZON))
    stored = read_header(valid.batch)
    assert stored.delete_horizon_ms is None
    assert check_crc(valid.batch, stored)


# The topic's codec


@pytest.mark.parametrize("source", range(5))
@pytest.mark.parametrize("target", range(5))
def test_the_topics_codec_is_used_and_all_else_kept(source: int, target: int) -> None:
    name = CODEC_NAMES[target] if target else "uncompressed"
    sent = batch(
        50, source, producer_id=7, producer_epoch=2, base_sequence=9, max_timestamp=5
    )
    changed(sent, attributes=source | 0x10)
    valid = checked(bytearray(sent), replace(CONFIG, compression_type=name))
    stored = read_header(valid.batch)
    assert stored.compression == target
    assert stored.is_transactional
    assert check_crc(valid.batch, stored)
    assert list(iterate(valid.batch)) == list(iterate(sent))
    assert stored.max_timestamp == NOW + 49
    assert _kept(stored) == _kept(read_header(sent))
    assert stored.size == len(valid.batch)


def test_control_batches_stay_uncompressed() -> None:
    gzip = replace(CONFIG, compression_type="gzip")
    stored = checked(batch(attributes=CONTROL), gzip, COORDINATOR).batch
    assert read_header(stored).compression == 0


def test_t009_oversize_after_recompression_rejected_10() -> None:
    sent = build_batch([NewRecord(b"k", bytes(2000), NOW)], compression=1)
    small = replace(CONFIG, max_message_bytes=500)
    assert len(sent) < 500
    assert checked(bytearray(sent), small)
    with pytest.raises(MessageTooLarge):
        checked(sent, replace(small, compression_type="uncompressed"))


def _kept(header: BatchHeader) -> tuple[int, ...]:
    return (
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.records_count,
        header.base_timestamp,
    )
