import json
from pathlib import Path

import pytest

from odradek.protocol.record_batch import restamp_crc
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.dump.log_dump import Depth, base_offset_of_first, dump_log
from odradek.storage.dump.row import Row, RowKind
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch

PATH = Path("/d/00000000000000000000.log")
SHALLOW, DEEP, DATA = Depth(), Depth(records=True), Depth(records=True, data=True)


def dump(
    data: bytes | bytearray, depth: Depth = SHALLOW, size_max: int = 2**63
) -> list[Row]:
    files = FakeFiles()
    files.put(PATH, bytes(data))
    return list(dump_log(files.open(PATH), 0, depth, size_max))


def kinds(rows: list[Row]) -> str:
    return " ".join(row.kind.value for row in rows)


def three() -> list[bytearray]:
    return [batch(0, 2), batch(2, 2), batch(4, 2)]


def test_batches_in_order() -> None:
    rows = dump(b"".join(three()))
    assert [row.fields["baseOffset"] for row in rows] == [0, 2, 4]
    assert [row.fields["position"] for row in rows] == [
        0,
        len(three()[0]),
        2 * len(three()[0]),
    ]


def test_goes_on_behind_a_flipped_bit() -> None:
    first, second, third = three()
    second[70] ^= 1
    rows = dump(first + second + third)
    assert kinds(rows) == "batch batch damage batch"
    assert rows[1].fields["isvalid"] is False
    assert rows[2].fields["position"] == len(first)
    assert rows[2].fields["end"] == len(first) + len(second)


def test_goes_on_behind_noise() -> None:
    first, _, third = three()
    rows = dump(first + b"noise" * 30 + third)
    assert kinds(rows) == "batch damage batch"


@pytest.mark.parametrize("left", [1, 11, 60, 70])
def test_a_cut_batch_is_damage(left: int) -> None:
    first, second, _ = three()
    rows = dump(first + second[:left])
    assert kinds(rows) == "batch damage"
    assert rows[1].fields["end"] == len(first) + left


def test_zeros_at_the_end_are_noted() -> None:
    rows = dump(three()[0] + bytes(1000))
    assert kinds(rows) == "batch note"
    assert "1000 zero bytes" in str(rows[1].fields["reason"])


def test_a_newer_version_is_named() -> None:
    newer = three()[1]
    newer[16] = 3
    rows = dump(three()[0] + newer)
    assert "magic 3" in str(rows[-1].fields["reason"])


def test_no_more_than_asked_for() -> None:
    first = three()[0]
    assert len(dump(b"".join(three()), size_max=len(first) + 1)) == 2
    assert len(dump(b"".join(three()), size_max=len(first))) == 1


def test_records_with_their_sequences() -> None:
    data = build_batch(
        [NewRecord(b"k", None, 5), NewRecord(None, b"\xff", 6, [("h", b"1")])],
        producer_id=1,
        producer_epoch=0,
        base_sequence=2**31 - 1,
    )
    [row] = dump(data, DATA)
    one, other = row.fields["records"]  # type: ignore[misc]
    assert one == {
        "offset": 0,
        "CreateTime": 5,
        "keySize": 1,
        "valueSize": -1,
        "sequence": 2**31 - 1,
        "headerKeys": [],
        "key": "k",
        "payload": None,
    }
    assert other["sequence"] == 0
    assert other["payload"] == {"hex": "ff"}
    assert (other["headerKeys"], other["headerValues"]) == (["h"], ["1"])
    json.dumps(row.fields)


def test_records_that_cannot_be_read_are_damage() -> None:
    data = batch(0)
    data[61] = 0x7F  # the length of the record
    restamp_crc(data)
    assert kinds(dump(data)) == "batch"
    assert kinds(dump(data, DEEP)) == "batch damage"


def test_the_first_batch_says_where_a_log_of_another_name_begins() -> None:
    files = FakeFiles()
    files.put(PATH, bytes(batch(2**40)))
    assert base_offset_of_first(files.open(PATH)) == 2**40
    files.put(PATH, b"short")
    assert base_offset_of_first(files.open(PATH)) == 0


def test_a_log_append_time_is_called_so() -> None:
    [row] = dump(build_batch([NewRecord()], log_append_time_ms=77), DEEP)
    assert row.fields["LogAppendTime"] == 77
    assert row.kind is RowKind.BATCH
