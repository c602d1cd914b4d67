import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.share.records import (
    Snapshot,
    SnapshotRecord,
    UpdateRecord,
    decode,
)
from odradek.broker.coordinator.share.state import ShareKey, StateBatch
from odradek.protocol.errors import InvalidRecord

_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_int32 = st.integers(-(1 << 31), (1 << 31) - 1)
_int64 = st.integers(-(1 << 63), (1 << 63) - 1)
_batches = st.lists(
    st.builds(
        StateBatch,
        _int64,
        _int64,
        st.integers(-128, 127),
        st.integers(-(1 << 15), (1 << 15) - 1),
    ),
    max_size=3,
).map(tuple)
_keys = st.builds(ShareKey, _names, st.binary(min_size=16, max_size=16), _int32)
_snapshots = st.builds(
    Snapshot, _int32, _int32, _int32, _int64, _int32, _int64, _int64, _batches
)
_records = st.builds(
    SnapshotRecord, _keys, st.none() | _snapshots, st.just(False)
) | st.builds(UpdateRecord, _keys, _int32, _int32, _int64, _int32, _batches)
KEY = ShareKey("g", b"T" * 16, 3)
UPDATE = UpdateRecord(KEY, 1, 0, 5, 2, (StateBatch(6, 7, 2, 1),))


@given(_records)
def test_what_is_written_is_read_again(record: SnapshotRecord | UpdateRecord) -> None:
    assert decode(*record.encode()) == record


def test_an_update_byte_by_byte() -> None:
    key, value = UPDATE.encode()
    assert key.hex(" ") == "00 01 00 01 67" + " 54" * 16 + " 00 00 00 03"
    assert value is not None
    assert value.hex(" ") == (
        "00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 05 02"
        " 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00 07 02 00 01 00"
        " 01 00 04 00 00 00 02"
    )


def test_a_snapshot_byte_by_byte() -> None:
    key, value = SnapshotRecord(KEY, Snapshot(2, 3, 4, 5, -1, 6, 7)).encode()
    assert key[:2] == b"\0\0"
    assert value is not None
    assert value.hex(" ") == (
        "00 00 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00 00 00 00 00 05"
        " 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00 07 01 00"
    )


def test_beginning_anew_is_not_written() -> None:
    snapshot = Snapshot(0, 1, 0, -1, -1, 6, 7)
    anew = SnapshotRecord(KEY, snapshot, begins_anew=True)
    assert decode(*anew.encode()) == SnapshotRecord(KEY, snapshot)


def test_strange_records_are_passed_over() -> None:
    key, value = UPDATE.encode()
    assert decode(b"\0\x09" + key[2:], value) is None
    assert decode(key, None) is None, "an update has no tombstone"


@pytest.mark.parametrize("cut", [0, 1, 5, 30])
def test_a_garbled_record_is_refused(cut: int) -> None:
    key, value = UPDATE.encode()
    assert value is not None
    with pytest.raises(InvalidRecord):
        decode(key, value[:cut])
    with pytest.raises(InvalidRecord):
        decode(key[: cut % len(key)][:-1], value)


def test_a_newer_version_is_refused() -> None:
    key, value = UPDATE.encode()
    assert value is not None
    with pytest.raises(InvalidRecord, match="version 1 of ShareUpdateValue"):
        decode(key, b"\0\1" + value[2:])
