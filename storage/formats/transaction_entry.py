"""The entries of ``.txnindex``: the aborted transactions of a segment.

======== ======= ==================== ==============================================
position type    field                remark
======== ======= ==================== ==============================================
0        int16   version              0
2        int64   producer_id
10       int64   first_offset         of the transaction, maybe in an older segment
18       int64   last_offset          of its end marker; increases through the file
26       int64   last_stable_offset   as it was when the entry was written
======== ======= ==================== ==============================================
"""

from struct import Struct
from typing import Final, NamedTuple

TRANSACTION_ENTRY_SIZE: Final = 34

_VERSION = 0
_ENTRY = Struct(">hqqqq")


class TransactionEntry(NamedTuple):
    """One aborted transaction."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def pack_transaction_entry(entry: TransactionEntry) -> bytes:
    """The 34 bytes of an entry."""
    return _ENTRY.pack(_VERSION, *entry)


def parse_transaction_index(
    data: bytes | bytearray | memoryview,
) -> list[TransactionEntry]:
    """The entries of a whole ``.txnindex``.

    Raises:
        ValueError: another version, or a length that is no multiple of 34.
    """
    if len(data) % TRANSACTION_ENTRY_SIZE:
        raise ValueError(f"{len(data)} bytes are not a whole number of entries")
    entries = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version != _VERSION:
            raise ValueError(f"version {version} of a transaction entry is not known")
        entries.append(TransactionEntry(*fields))
    return entries
