"""Which batches may be stored by their shape, size, checksum and header."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import (
    CorruptMessage,
    InvalidRecord,
    KafkaError,
    MessageTooLarge,
)
from odradek.protocol.record_batch import (
    CONTROL,
    LOG_APPEND_TIME,
    check_crc,
    pack_header,
    read_header,
    stamp,
)
from odradek.storage.validation.validator import check_header, delimit
from tests.storage.produced_batches import (
    CLIENT,
    CONFIG,
    COORDINATOR,
    NOW,
    REPLICATION,
    batch,
    changed,
    checked,
)

# What is stored as it is


@pytest.mark.parametrize("compression", range(5))
def test_a_good_batch_is_not_changed(compression: int) -> None:
    sent = batch(3, compression)
    valid = checked(bytearray(sent))
    assert valid.batch == sent
    assert valid.max_timestamp == NOW + 2


def test_t001_offset_and_epoch_do_not_touch_the_checksum() -> None:
    stored = checked(batch(3)).batch
    stamp(stored, 1234, 7)
    assert check_crc(stored, read_header(stored))
    pack_header(stored, read_header(stored)._replace(attributes=LOG_APPEND_TIME))
    assert not check_crc(stored, read_header(stored))


def test_t003_create_time_response_timestamp_is_minus_one() -> None:
    assert checked(batch()).log_append_time_ms == -1


def test_a_read_only_batch_is_copied_before_it_is_changed() -> None:
    sent = bytes(batch(2, max_timestamp=5))
    assert read_header(checked(memoryview(sent)).batch).max_timestamp == NOW + 1
    assert read_header(sent).max_timestamp == 5


# Shape


@pytest.mark.parametrize("size", [0, 11, 12, 16, 17, 40, 60, -1])
def test_no_whole_batch_is_no_record(size: int) -> None:
    with pytest.raises(InvalidRecord):
        checked(batch()[:size])


@pytest.mark.parametrize("size", [1, 10, 11, 12, 16, 17, 20, 60])
def test_the_beginning_of_another_batch_is_dropped(size: int) -> None:
    sent = batch(2)
    assert checked(sent + batch()[:size]).batch == sent


def test_t006_two_batches_in_one_set_are_rejected() -> None:
    with pytest.raises(InvalidRecord, match="more than one"):
        checked(batch() + batch())


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 13])
def test_an_impossible_length_is_corrupt(length: int) -> None:
    for sent in (changed(batch(), batch_length=length, crc=0),):
        with pytest.raises(CorruptMessage):
            checked(sent)
    with pytest.raises(CorruptMessage):
        checked(batch() + changed(batch(), batch_length=length, crc=0))


def test_a_batch_shorter_than_its_header_is_corrupt() -> None:
    with pytest.raises(CorruptMessage):
        checked(changed(batch(), batch_length=48, crc=0))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_invalid(magic: int) -> None:
    with pytest.raises(InvalidRecord):
        checked(changed(batch(), magic=magic))


@pytest.mark.parametrize("magic", [3, 127, -1])
def test_formats_that_never_were_are_corrupt(magic: int) -> None:
    with pytest.raises(CorruptMessage):
        checked(changed(batch(), magic=magic))


@given(st.binary(max_size=300))
def test_noise_is_refused_by_code(noise: bytes) -> None:
    with pytest.raises(KafkaError):
        checked(bytearray(noise))


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_one_flipped_bit_never_passes_unnoticed(place: int, bit: int) -> None:
    sent = batch(5)
    sent[place % len(sent)] ^= 1 << bit
    try:
        stored = checked(sent).batch
    except KafkaError:
        return
    # The epoch is outside the checksum, and stamped anyway.
    stamp(stored, 0, -1)
    assert stored == batch(5)


def test_delimit_gives_the_batch_alone() -> None:
    sent = batch()
    view, header = delimit(bytes(sent) + b"rest")
    assert view == sent
    assert header == read_header(sent)


# Size and checksum


def test_max_message_bytes_is_the_largest_that_is_taken() -> None:
    size = len(batch())
    assert checked(batch(), replace(CONFIG, max_message_bytes=size))
    with pytest.raises(MessageTooLarge):
        checked(batch(), replace(CONFIG, max_message_bytes=size - 1))


def test_a_wrong_checksum_is_corrupt() -> None:
    with pytest.raises(CorruptMessage):
        checked(changed(batch(), crc=1))


# Header


def test_t004_client_base_offset_nonzero_rejected_87() -> None:
    with pytest.raises(InvalidRecord):
        checked(batch(base_offset=5))
    check_header(read_header(batch(base_offset=5)), REPLICATION)
    assert checked(batch(base_offset=5), origin=COORDINATOR)


def test_t005_count_vs_offset_delta_mismatch_rejected() -> None:
    mismatched = read_header(batch(2, last_offset_delta=2))
    with pytest.raises(InvalidRecord):
        check_header(mismatched, CLIENT)
    check_header(mismatched, REPLICATION)


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": CONTROL},
        {"producer_id": 7, "producer_epoch": 0},
        {"records_count": 0},
        {"records_count": 0, "last_offset_delta": -1},
        {"records_count": -1, "last_offset_delta": -2},
        {"records_count": 2},
        {"records_count": 2, "last_offset_delta": 1},
        {"last_offset_delta": 3},
        {"last_offset_delta": -1},
    ],
)
def test_t014_headers_that_no_client_may_send(fields: dict[str, int]) -> None:
    with pytest.raises(InvalidRecord):
        checked(batch(**fields))


def test_a_producer_without_id_may_say_any_sequence() -> None:
    assert checked(batch(base_sequence=3))


def test_a_coordinator_may_write_control_records() -> None:
    assert checked(batch(attributes=CONTROL), origin=COORDINATOR)
