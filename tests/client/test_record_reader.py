import pytest

from odradek.client.fetcher import Fetched
from odradek.client.record_reader import read_batches, read_records
from odradek.protocol.control_records import ControlType, encode_key
from odradek.protocol.errors import CorruptMessage
from odradek.protocol.messages.fetch import AbortedTransaction
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition

PLACE = TopicPartition("t", 0)


def batch(offset: int, *values: bytes, producer_id: int = -1) -> bytes:
    return bytes(
        build_batch(
            [NewRecord(None, value, 0) for value in values],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=producer_id >= 0,
        )
    )


def marker(offset: int, producer_id: int, control_type: ControlType) -> bytes:
    return bytes(
        build_batch(
            [NewRecord(encode_key(control_type), b"\0" * 6, 0)],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
        )
    )


def fetched(data: bytes, *aborted: tuple[int, int]) -> Fetched:
    transactions = tuple(
        AbortedTransaction(producer_id=producer_id, first_offset=offset)
        for producer_id, offset in aborted
    )
    return Fetched(PLACE, memoryview(data), 100, 100, 0, transactions)


LOG = b"".join(
    [
        batch(0, b"a"),
        batch(1, b"x", producer_id=7),
        batch(2, b"b", producer_id=8),
        marker(3, 7, ControlType.ABORT),
        batch(4, b"c", producer_id=7),
        marker(5, 7, ControlType.COMMIT),
        marker(6, 8, ControlType.COMMIT),
        batch(7, b"y", producer_id=8),
        batch(8, b"d", b"e", b"f"),
    ]
)


def values(data: Fetched, offset: int = 0, *, committed: bool) -> bytes:
    found = read_records(data, offset, committed=committed)
    return b"".join(record.value or b"" for record in found)


def test_aborted_records_and_markers_are_left_out() -> None:
    answer = fetched(LOG, (8, 7), (7, 1))
    assert values(answer, committed=True) == b"abcdef"
    assert values(answer, committed=False) == b"axbcydef"


def test_records_before_the_wanted_offset_are_left_out() -> None:
    assert values(fetched(LOG, (8, 7)), 9, committed=True) == b"ef"


def test_a_cut_last_batch_ends_it() -> None:
    assert values(fetched(LOG[:-1], (7, 1), (8, 7)), committed=True) == b"abc"
    assert list(read_batches(fetched(b""), committed=True)) == []


def test_a_batch_with_a_wrong_checksum_is_told_with_its_offset() -> None:
    damaged = bytearray(LOG)
    damaged[-1] ^= 1
    found = read_records(fetched(bytes(damaged)), 0, committed=False)
    with pytest.raises(CorruptMessage, match="t-0: the batch at offset 8"):
        list(found)
