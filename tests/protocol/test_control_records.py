from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    read_any_marker,
    read_marker,
)
from odradek.protocol.errors import CorruptMessage, InvalidRecord, KafkaError
from odradek.protocol.record_batch import check_crc, read_header, scan
from odradek.protocol.records import NewRecord, build_batch

LOG_DIR = Path(__file__).parents[1] / "golden/kafka-4.3.1/txn-interleaved/log-dir"


def kafka_markers() -> Iterator[bytes]:
    for path in sorted((LOG_DIR / "tx-0").glob("*.log")):
        data = path.read_bytes()
        for position, header in scan(data):
            if header.is_control:
                yield data[position : position + header.size]


def test_markers_are_those_of_kafka_byte_for_byte() -> None:
    markers = list(kafka_markers())
    assert len(markers) == 8
    for batch in markers:
        header = read_header(batch)
        marker = read_marker(batch)
        assert marker is not None
        ours = build_marker_batch(
            marker,
            header.producer_id,
            header.producer_epoch,
            header.max_timestamp,
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
        )
        assert ours == batch


@pytest.mark.parametrize("control_type", [ControlType.ABORT, ControlType.COMMIT])
def test_marker_reads_as_it_was_built(control_type: ControlType) -> None:
    marker = EndTxnMarker(control_type, coordinator_epoch=7)
    batch = build_marker_batch(marker, 5, 2, 1000)
    header = read_header(batch)
    assert check_crc(batch, header)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch) == (5, 2)
    assert (header.base_sequence, header.records_count) == (-1, 1)
    assert read_marker(batch) == marker
    assert marker.is_commit == (control_type is ControlType.COMMIT)


def test_key_and_value_layout() -> None:
    assert encode_key(ControlType.COMMIT) == bytes.fromhex("00000001")
    assert encode_value(258) == bytes.fromhex("000000000102")


def test_longer_keys_and_values_of_later_versions_are_read() -> None:
    assert decode_key(bytes.fromhex("00010001ffff")) is ControlType.COMMIT
    assert decode_value(bytes.fromhex("000100000009ffff")) == 9


def test_unknown_type_is_no_marker() -> None:
    assert decode_key(bytes.fromhex("00000063")) is None
    later = NewRecord(bytes.fromhex("00000063"), b"")
    assert read_marker(build_batch([later], is_control=True)) is None
    change = NewRecord(encode_key(ControlType.LEADER_CHANGE), b"")
    assert read_marker(build_batch([change], is_control=True)) is None


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", bytes.fromhex("ffff0001")])
def test_bad_key(key: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        decode_key(key)


@pytest.mark.parametrize("value", [None, b"", bytes(5), bytes.fromhex("ffff00000001")])
def test_bad_value(value: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        decode_value(value)


def test_cut_marker_is_corrupt() -> None:
    batch = build_marker_batch(EndTxnMarker(ControlType.ABORT, 0), 1, 0, 0)
    with pytest.raises(CorruptMessage):
        read_marker(batch[:-1])


@given(
    marker=st.builds(
        EndTxnMarker,
        st.sampled_from([ControlType.ABORT, ControlType.COMMIT]),
        st.integers(-(1 << 31), (1 << 31) - 1),
    ),
    changes=st.dictionaries(st.integers(0, 77), st.integers(0, 255), max_size=2),
    size=st.sampled_from([78, 78, 78, 77, 79]),
)
def test_usual_markers_read_as_others_do(
    marker: EndTxnMarker, changes: dict[int, int], size: int
) -> None:
    batch = build_marker_batch(marker, 7, 3, 1000)
    assert len(batch) == 78
    for position, value in changes.items():
        batch[position] = value
    batch = (batch + bytes(1))[:size]
    read: list[Any] = []
    for reader in (read_marker, read_any_marker):
        try:
            read.append(reader(batch))
        except KafkaError as error:
            read.append(type(error))
    assert read[0] == read[1]


@given(
    st.sampled_from([ControlType.ABORT, ControlType.COMMIT]),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**15 - 1),
    st.integers(-1, 2**63 - 1),
    st.tuples(st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1)),
)
def test_a_marker_is_a_batch_as_others_are(  # what differs is put into a template
    kind: ControlType,
    epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    place: tuple[int, int],
) -> None:
    marker = EndTxnMarker(kind, epoch)
    record = NewRecord(encode_key(kind), encode_value(epoch), timestamp)
    assert build_marker_batch(
        marker, producer_id, producer_epoch, timestamp, *place
    ) == build_batch(
        [record],
        base_offset=place[0],
        leader_epoch=place[1],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
