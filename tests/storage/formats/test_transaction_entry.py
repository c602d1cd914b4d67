import json
from pathlib import Path

import pytest

from odradek.storage.formats.transaction_entry import (
    TRANSACTION_ENTRY_SIZE,
    TransactionEntry,
    pack_transaction_entry,
    parse_transaction_index,
)

GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1/txn-interleaved"


def test_entry_is_34_bytes_big_endian() -> None:
    packed = pack_transaction_entry(TransactionEntry(7, 10, 20, 12))
    assert packed == bytes.fromhex(
        "0000 0000000000000007 000000000000000a 0000000000000014 000000000000000c"
    )
    assert len(packed) == TRANSACTION_ENTRY_SIZE
    assert parse_transaction_index(packed) == [TransactionEntry(7, 10, 20, 12)]


def test_kafkas_files_are_read_and_written_the_same() -> None:
    on_disk = json.loads((GOLDEN / "expected.json").read_text())["on_disk"]
    seen = 0
    for directory, files in on_disk.items():
        for name in (name for name in files if name.endswith(".txnindex")):
            data = (GOLDEN / "log-dir" / directory / name).read_bytes()
            entries = parse_transaction_index(data)
            assert b"".join(map(pack_transaction_entry, entries)) == data
            assert [entry.first_offset for entry in entries] == [
                entry["firstOffset"] for entry in files[name]
            ]
            seen += len(entries)
    assert seen


def test_unknown_version_is_refused() -> None:
    data = bytearray(pack_transaction_entry(TransactionEntry(7, 10, 20, 12)))
    data[1] = 1
    with pytest.raises(ValueError, match="version 1"):
        parse_transaction_index(data)


def test_half_an_entry_is_refused() -> None:
    data = pack_transaction_entry(TransactionEntry(7, 10, 20, 12))
    with pytest.raises(ValueError, match="33 bytes"):
        parse_transaction_index(data[:-1])
