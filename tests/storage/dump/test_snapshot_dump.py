from pathlib import Path

from odradek.storage.dump.row import Row, RowKind
from odradek.storage.dump.snapshot_dump import dump_snapshot
from odradek.storage.formats.producer_entry import ProducerEntry, pack_producers
from tests.fakes.files import FakeFiles

PATH = Path("/d/00000000000000000009.snapshot")


def dump(data: bytes) -> list[Row]:
    files = FakeFiles()
    files.put(PATH, data)
    return list(dump_snapshot(files.open(PATH)))


def snapshot() -> bytes:
    idle = ProducerEntry(3, 1, -1, -1, 0, 55, 0, -1)
    busy = ProducerEntry(4, 0, 1, 8, 3, 66, -1, 7)
    return pack_producers([idle, busy])


def test_producers_with_and_without_a_batch() -> None:
    one, other = dump(snapshot())
    assert one.fields == {
        "producerId": 3,
        "producerEpoch": 1,
        "coordinatorEpoch": 0,
        "currentTxnFirstOffset": None,
        "lastTimestamp": 55,
    }
    # The sequence went over its end inside of the batch.
    assert other.fields["firstSequence"] == 2**31 - 2
    assert other.fields["lastSequence"] == 1
    assert other.fields["currentTxnFirstOffset"] == 7


def test_what_is_wrong_is_said_and_the_rest_shown() -> None:
    data = bytearray(snapshot())
    data[20] ^= 1
    wrong, *producers = dump(bytes(data))
    assert wrong.fields["reason"] == "the checksum is wrong"
    assert len(producers) == 2
    rows = dump(snapshot()[:-1])
    assert [row.kind for row in rows] == [
        RowKind.DAMAGE,
        RowKind.ENTRY,
        RowKind.DAMAGE,
    ]
    assert rows[2].fields["reason"] == "2 producers announced, 1 present"


def test_short_and_newer_files() -> None:
    [row] = dump(b"\0\1")
    assert row.fields["reason"] == "2 bytes are too few for a snapshot"
    [row] = dump(b"\0\2" + snapshot()[2:])
    assert row.fields["reason"] == "version 2 of a snapshot is not known"
