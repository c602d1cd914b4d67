from pathlib import Path

import pytest

from odradek.storage.formats.producer_entry import (
    ProducerEntry,
    pack_producers,
    parse_producers,
)

GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1"
ENTRY = ProducerEntry(7, 2, 41, 100, 3, 1_700_000_000_000, 5, 90)


def test_entry_is_46_bytes_big_endian() -> None:
    packed = pack_producers([ENTRY])
    assert packed[:2] + packed[6:] == bytes.fromhex(
        "0001 00000001 0000000000000007 0002 00000029 0000000000000064 00000003"
        "0000018bcfe56800 00000005 000000000000005a"
    )
    assert parse_producers(packed) == [ENTRY]


def test_kafkas_files_are_read_and_written_the_same() -> None:
    snapshots = sorted(GOLDEN.glob("txn-interleaved/log-dir/tx-0/*.snapshot"))
    assert snapshots
    for path in snapshots:
        data = path.read_bytes()
        assert pack_producers(parse_producers(data)) == data


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\0" * 9, "9 bytes"),
        (b"\0\2" + bytes(8), "version 2"),
        (pack_producers([ENTRY])[:-1] + b"!", "checksum"),
        (pack_producers([])[:-1] + b"\1", "checksum"),
    ],
)
def test_damage_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_producers(data)
