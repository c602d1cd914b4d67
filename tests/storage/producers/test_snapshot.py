"""Producer snapshots are byte for byte those of Apache Kafka, or refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.formats.producer_entry import ProducerEntry, pack_producers
from odradek.storage.producers.snapshot import (
    SnapshotCorrupt,
    decode_snapshot,
    list_snapshots,
    snapshot_offset,
    snapshot_path,
)
from odradek.storage.producers.states import ProducerStates
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
IDLE = ProducerEntry(1, -1, -1, -1, 0, -1, -1, -1)


def test_kafkas_own_snapshots_are_written_alike() -> None:
    paths = sorted(GOLDEN.glob("*/log-dir/*/*.snapshot"))
    assert len(paths) > 50
    for path in paths:
        data = path.read_bytes()
        if data.strip(b"\xff"):
            states = ProducerStates(expiration_ms=1 << 62)
            states.load(decode_snapshot(data), 0, now_ms=0)
            assert states.encode() == data, path
        else:  # the case snapshot-garbled
            with pytest.raises(SnapshotCorrupt):
                decode_snapshot(data)


@pytest.mark.parametrize("size", range(10))
def test_a_short_file_is_refused(size: int) -> None:
    with pytest.raises(SnapshotCorrupt):
        decode_snapshot(pack_producers([])[:size])


@given(st.integers(0, 55), st.integers(0, 7))
def test_one_flipped_bit_is_refused(position: int, bit: int) -> None:
    data = bytearray(pack_producers([IDLE]))
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
