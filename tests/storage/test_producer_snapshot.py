"""Producer snapshots are byte for byte those of Apache Kafka, or refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.producer_snapshot import (
    SnapshotCorrupt,
    decode_snapshot,
    encode_snapshot,
    list_snapshots,
    snapshot_offset,
    snapshot_path,
)
from storage.producer_state import BatchMetadata, ProducerState
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.1"
INT64 = st.integers(0, 2**63 - 1)
INT32 = st.integers(0, 2**31 - 1)
INT16 = st.integers(0, 2**15 - 1)


@st.composite
def producers(draw: st.DrawFn) -> ProducerState:
    state = ProducerState(
        draw(INT64), draw(INT16), draw(INT32), draw(INT64), draw(INT64)
    )
    if draw(st.booleans()):
        batch = BatchMetadata(
            draw(INT32), draw(INT64), draw(INT32), state.last_timestamp
        )
        state.batches.append(batch)
    return state


def fields(state: ProducerState) -> tuple[object, ...]:
    return (
        state.producer_id,
        state.producer_epoch,
        state.coordinator_epoch,
        state.last_timestamp,
        state.current_txn_first_offset,
        state.batches,
    )


@given(st.lists(producers()))
def test_what_is_written_is_read(states: list[ProducerState]) -> None:
    read = decode_snapshot(encode_snapshot(states))
    assert list(map(fields, read)) == list(map(fields, states))


def test_kafkas_own_snapshots_are_written_alike() -> None:
    paths = sorted(GOLDEN.glob("*/log-dir/*/*.snapshot"))
    assert len(paths) > 50
    for path in paths:
        data = path.read_bytes()
        if data.strip(b"\xff"):
            assert encode_snapshot(decode_snapshot(data)) == data, path
        else:  # the case snapshot-garbled
            with pytest.raises(SnapshotCorrupt):
                decode_snapshot(data)


def test_only_the_last_batch_survives() -> None:
    state = ProducerState(7)
    for sequence in range(3):
        state.add_batch(0, BatchMetadata(sequence, sequence, 0, 5))
    (read,) = decode_snapshot(encode_snapshot([state]))
    assert [batch.last_sequence for batch in read.batches] == [2]


@pytest.mark.parametrize("size", range(10))
def test_a_short_file_is_refused(size: int) -> None:
    with pytest.raises(SnapshotCorrupt):
        decode_snapshot(encode_snapshot([])[:size])


@given(st.integers(0, 55), st.integers(0, 7))
def test_one_flipped_bit_is_refused(position: int, bit: int) -> None:
    data = bytearray(encode_snapshot([ProducerState(1)]))
    data[position] ^= 1 << bit
    with pytest.raises(SnapshotCorrupt):
        decode_snapshot(bytes(data))


def test_the_offset_is_in_the_name() -> None:
    path = snapshot_path(Path("/data/t-0"), 42)
    assert path.name == "00000000000000000042.snapshot"
    assert snapshot_offset(path.name) == 42
    for name in ("00000000000000000042.log", "42.snapshot", "x.snapshot", "partition"):
        assert snapshot_offset(name) is None


def test_snapshots_are_listed_in_order() -> None:
    files, directory = FakeFiles(), Path("/data/t-0")
    for offset in (100, 3, 20):
        files.put(snapshot_path(directory, offset), b"")
    files.put(directory / "00000000000000000000.log", b"")
    assert list_snapshots(files, directory) == [3, 20, 100]
