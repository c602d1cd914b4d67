import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.tail import Tail
from odradek.protocol.membership_records import NoOpRecord
from tests.fakes.controller import batch_of


def batch(offset: int, epoch: int, count: int = 1) -> bytes:
    return batch_of([NoOpRecord()] * count, offset, epoch)


def test_only_whole_batches_below_the_high_watermark_are_committed() -> None:
    tail = Tail()
    tail.append(batch(0, 1) + batch(1, 1, 3) + batch(4, 2))
    assert (tail.end_offset, tail.last_epoch) == (5, 2)
    assert [each.header.base_offset for each in tail.committed(3)] == [0]
    assert tail.start_offset == 1
    assert [each.header.base_offset for each in tail.committed(4)] == [1]
    assert tail.committed(4) == []
    assert (tail.start_offset, tail.end_offset, tail.last_epoch) == (4, 5, 2)


def test_a_batch_that_is_cut_short_comes_again() -> None:
    tail = Tail()
    tail.append(batch(0, 1) + batch(1, 1)[:-1])
    assert tail.end_offset == 1
    tail.append(batch(1, 1)[:30])
    tail.append(batch(1, 1))
    assert tail.end_offset == 2


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (batch(7, 1), "offset 7, where 1 was to come"),
        (batch(1, 0), "epoch 0 behind 1"),
        (batch(1, 1)[:-1] + b"x", "damaged batch"),
        (bytes(100), "a batch of 12 bytes"),
    ],
)
def test_what_does_not_continue_the_log_is_refused(data: bytes, complaint: str) -> None:
    tail = Tail()
    tail.append(batch(0, 1))
    with pytest.raises(MetadataLogError, match=complaint):
        tail.append(data)


def test_a_tail_is_cut_where_the_histories_part() -> None:
    tail = Tail()
    tail.append(batch(0, 1) + batch(1, 2) + batch(2, 2) + batch(3, 4))
    tail.committed(1)
    tail.cut(3, 3)  # the leader's epoch 3 is none of ours: epoch 2 ends at 3
    assert (tail.end_offset, tail.last_epoch) == (3, 2)
    tail.cut(2, 2)
    assert (tail.end_offset, tail.last_epoch) == (2, 2)
    tail.cut(1, 9)
    assert (tail.end_offset, tail.last_epoch) == (1, 1)
    with pytest.raises(MetadataLogError, match="which is committed"):
        tail.cut(1, 0)
    with pytest.raises(MetadataLogError, match="which is committed"):
        tail.cut(0, 9)


def test_a_snapshot_is_a_new_beginning() -> None:
    tail = Tail()
    tail.append(batch(0, 1))
    tail.restart(100, 3)
    assert (tail.end_offset, tail.last_epoch) == (100, 3)
    tail.append(batch(100, 3))
    assert tail.end_offset == 101
