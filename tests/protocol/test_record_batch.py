import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CONTROL,
    HAS_DELETE_HORIZON,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    BatchHeader,
    check_crc,
    codec_id,
    codec_name,
    compute_crc,
    next_sequence,
    pack_header,
    read_header,
    restamp_time,
    scan,
    stamp,
)
from odradek.protocol.records import NewRecord, build_batch


def batch_of(*values: bytes, **fields: int) -> bytearray:
    records = [NewRecord(None, value, 1000 + i) for i, value in enumerate(values)]
    return build_batch(
        records,
        base_offset=fields.get("base_offset", 0),
        producer_id=fields.get("producer_id", -1),
        base_sequence=fields.get("base_sequence", -1),
    )


def header(**fields: int) -> BatchHeader:
    return read_header(batch_of(b"v"))._replace(**fields)


def test_t001_batch_v2_roundtrip_bytes() -> None:
    fields = BatchHeader(
        base_offset=0x0102030405060708,
        batch_length=49,
        partition_leader_epoch=0x090A0B0C,
        magic=2,
        crc=0xF1F2F3F4,
        attributes=0x30,
        last_offset_delta=0x11121314,
        base_timestamp=0x2122232425262728,
        max_timestamp=0x3132333435363738,
        producer_id=0x4142434445464748,
        producer_epoch=0x5152,
        base_sequence=0x61626364,
        records_count=0x71727374,
    )
    data = bytearray(BATCH_OVERHEAD)
    pack_header(data, fields)

    assert data[0:8] == bytes.fromhex("0102030405060708")
    assert data[8:12] == bytes.fromhex("00000031")
    assert data[12:16] == bytes.fromhex("090a0b0c")
    assert data[16:17] == b"\x02"
    assert data[17:21] == bytes.fromhex("f1f2f3f4")
    assert data[21:23] == bytes.fromhex("0030")
    assert data[23:27] == bytes.fromhex("11121314")
    assert data[27:35] == bytes.fromhex("2122232425262728")
    assert data[35:43] == bytes.fromhex("3132333435363738")
    assert data[43:51] == bytes.fromhex("4142434445464748")
    assert data[51:53] == bytes.fromhex("5152")
    assert data[53:57] == bytes.fromhex("61626364")
    assert data[57:61] == bytes.fromhex("71727374")
    assert read_header(data) == fields


def test_t001_crc_leaves_out_offset_and_epoch_but_not_attributes() -> None:
    batch = batch_of(b"one", b"two")
    made = read_header(batch)
    assert check_crc(batch, made)

    stamp(batch, 77, 5)
    stamped = read_header(batch)
    assert (stamped.base_offset, stamped.partition_leader_epoch) == (77, 5)
    assert stamped._replace(base_offset=0, partition_leader_epoch=-1) == made
    assert check_crc(batch, stamped)

    batch[22] |= LOG_APPEND_TIME
    assert not check_crc(batch, read_header(batch))


def test_t015_sequence_wrap() -> None:
    assert next_sequence(0, 1) == 1
    assert next_sequence(2**31 - 1, 0) == 2**31 - 1
    assert next_sequence(2**31 - 1, 1) == 0
    assert next_sequence(2147483637, 20) == 9
    of_21_records = header(base_sequence=2147483637, last_offset_delta=20)
    assert of_21_records.last_sequence == 9


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_t015_sequences_count_modulo_two_to_the_31(
    sequence: int, increment: int
) -> None:
    assert next_sequence(sequence, increment) == (sequence + increment) % 2**31


def test_batch_without_sequence_has_no_last_one() -> None:
    assert header(base_sequence=-1, last_offset_delta=3).last_sequence == -1


def test_offsets_and_size() -> None:
    batch = batch_of(b"a", b"b", b"c", base_offset=40)
    made = read_header(batch)
    assert (made.base_offset, made.last_offset, made.next_offset) == (40, 42, 43)
    assert made.size == len(batch) == made.batch_length + LOG_OVERHEAD


def test_attributes_say_what_the_batch_is() -> None:
    plain = header(attributes=0, base_timestamp=7)
    assert not plain.is_log_append_time
    assert not plain.is_transactional
    assert not plain.is_control
    assert plain.delete_horizon_ms is None
    assert header(attributes=LOG_APPEND_TIME).is_log_append_time
    assert header(attributes=TRANSACTIONAL).is_transactional
    assert header(attributes=CONTROL).is_control
    cleaned = header(attributes=HAS_DELETE_HORIZON, base_timestamp=7)
    assert cleaned.delete_horizon_ms == 7
    assert [header(attributes=codec).compression for codec in range(8)] == [*range(8)]


def test_producer_id_zero_is_one() -> None:
    assert header(producer_id=0).has_producer_id
    assert not header(producer_id=-1).has_producer_id


@pytest.mark.parametrize("size", [0, 1, 17, 60])
def test_short_header_is_corrupt(size: int) -> None:
    with pytest.raises(CorruptMessage):
        read_header(bytes(size))


def test_header_is_read_at_a_position() -> None:
    batch = batch_of(b"v", base_offset=9)
    assert read_header(b"xyz" + batch, 3) == read_header(batch)
    with pytest.raises(CorruptMessage):
        read_header(batch, len(batch) - 60)


def test_crc_of_a_cut_or_lying_batch_is_wrong() -> None:
    batch = batch_of(b"value")
    made = read_header(batch)
    assert not check_crc(batch[:-1], made)
    assert not check_crc(batch, made._replace(batch_length=-70))
    assert not check_crc(batch, made._replace(batch_length=2**31 - 1))


def test_crc_ends_with_the_batch() -> None:
    batch = batch_of(b"value")
    made = read_header(batch)
    assert check_crc(batch + b"more", made)
    assert compute_crc(batch, len(batch)) == made.crc


def test_restamped_time_is_covered_by_a_new_crc() -> None:
    batch = batch_of(b"value")
    before = read_header(batch)
    restamp_time(memoryview(batch), before.attributes | LOG_APPEND_TIME, 123456)
    after = read_header(batch)
    assert after.is_log_append_time
    assert after.max_timestamp == 123456
    assert after.crc != before.crc
    assert check_crc(batch, after)


def test_restamping_leaves_what_follows_out_of_the_crc() -> None:
    batch = batch_of(b"value")
    both = batch + b"the next batch"
    restamp_time(both, 0, 5)
    assert check_crc(both, read_header(both))


def test_scan_finds_every_batch() -> None:
    batches = [batch_of(b"x" * n, base_offset=n) for n in range(5)]
    found = list(scan(b"".join(batches)))
    assert [made.base_offset for _, made in found] == [0, 1, 2, 3, 4]
    assert [position for position, _ in found] == [
        sum(map(len, batches[:n])) for n in range(5)
    ]


@given(st.integers(0, 200))
def test_scan_stops_at_a_cut_batch(cut: int) -> None:
    first, second = batch_of(b"one"), batch_of(b"two")
    data = (first + second)[: len(first) + cut]
    assert len(list(scan(data))) == (2 if cut >= len(second) else 1)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 14, 48])
def test_scan_refuses_a_length_that_no_batch_has(length: int) -> None:
    data = batch_of(b"one") + struct.pack(">qi", 0, length)
    batches = scan(data)
    assert next(batches)[0] == 0
    with pytest.raises(CorruptMessage, match=f"says that it has {length} bytes"):
        next(batches)


def test_codecs_have_names() -> None:
    names = [codec_name(codec) for codec in range(5)]
    assert names == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert [codec_id(name) for name in names] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="brotli"):
        codec_id("brotli")
    with pytest.raises(IndexError):
        codec_name(5)
