from typing import Any

from odradek.broker.share.acquire import Acquired
from odradek.broker.share.read_batches import (
    aborted_batches,
    offsets_of,
    read_batches,
    slice_of,
    without,
)
from odradek.storage.values.log_read import AbortedTransaction
from tests.fakes.replicas import batch_of, marker_of


def log(*batches: Any) -> bytes:
    """Batches one behind the other."""
    data, offset = b"", 0
    for each in batches:
        one = bytearray(each)
        one[:8] = offset.to_bytes(8, "big")
        data += one
        offset += int.from_bytes(one[23:27], "big") + 1
    return data


def of_producer(producer_id: int) -> Any:
    return batch_of(
        b"a",
        b"b",
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def test_batches_with_their_places() -> None:
    first, second = batch_of(b"a", b"b"), batch_of(b"c")
    data = log(first, second)
    found = read_batches(data)
    assert offsets_of(found) == [(0, 1), (2, 2)]
    assert [each.position for each in found] == [0, len(first)]
    assert offsets_of(read_batches(data[:-1])) == [(0, 1)], "the last one is cut"


def test_what_was_not_given_is_not_sent() -> None:
    data = log(batch_of(b"a", b"b"), batch_of(b"c"), batch_of(b"d"))
    batches = read_batches(data)

    def sliced(first: int, last: int) -> Any:
        return offsets_of(
            read_batches(slice_of(data, batches, [Acquired(first, last, 1)]))
        )

    assert sliced(1, 1) == [(0, 1)]
    assert sliced(2, 3) == [(2, 2), (3, 3)]
    assert slice_of(data, batches, [Acquired(0, 3, 1)]) is data


def test_what_was_aborted() -> None:
    data = log(
        of_producer(1),  # 0, 1: aborted
        of_producer(2),  # 2, 3: committed
        batch_of(b"x"),  # 4
        marker_of(1, commits=False),  # 5
        marker_of(2, commits=True),  # 6
        of_producer(1),  # 7, 8: another transaction, committed
        marker_of(1, commits=True),
    )
    aborted = [AbortedTransaction(1, 0)]
    assert aborted_batches(read_batches(data), aborted, data) == [(0, 1)]
    later = [AbortedTransaction(1, 7), AbortedTransaction(1, 0)]
    assert aborted_batches(read_batches(data), later, data) == [(0, 1), (7, 8)]
    assert aborted_batches(read_batches(data), [], data) == []


def test_what_is_left_without_what_was_aborted() -> None:
    given = [Acquired(0, 9, 1), Acquired(12, 15, 2)]
    assert without(given, []) == (given, [])
    assert without(given, [(2, 3), (8, 12), (15, 20)]) == (
        [Acquired(0, 1, 1), Acquired(4, 7, 1), Acquired(13, 14, 2)],
        [(2, 3), (8, 9), (12, 12), (15, 15)],
    )
    assert without([Acquired(4, 6, 1)], [(0, 9)]) == ([], [(4, 6)])
