"""What a follower sees of a set of batches before it writes them."""

import struct

import pytest

from odradek.protocol.errors import CorruptMessage
from odradek.storage.validation.batch_analysis import OffsetsOutOfOrder, analyse
from tests.storage.batches import batch


def test_positions_offsets_and_the_largest_timestamp() -> None:
    first, second = batch(10, 5, timestamp=2000), batch(20, 2, timestamp=1000)
    found = analyse(first + second)
    assert [position for position, _ in found.batches] == [0, len(first)]
    assert (found.first_offset, found.last_offset) == (10, 21)
    assert found.valid_size == len(first) + len(second)
    assert (found.max_timestamp, found.offset_of_max_timestamp) == (2004, 14)


def test_a_cut_last_batch_is_left_out() -> None:
    first, second = batch(0), batch(1)
    for cut in (1, len(second) - 1, len(second) - 61):
        found = analyse((first + second)[:-cut])
        assert (found.valid_size, found.last_offset) == (len(first), 0)


def test_without_a_whole_batch_there_is_nothing() -> None:
    for data in (b"", bytes(batch(0))[:-1], bytes(5)):
        found = analyse(data)
        assert not found.batches
        assert (found.valid_size, found.first_offset) == (0, -1)


def test_what_a_later_leader_wrote_is_left_out() -> None:
    first, second, third = (
        batch(0, 2, timestamp=9000),
        batch(2),
        batch(3, timestamp=9999),
    )
    for each, epoch in ((first, 1), (second, 3), (third, 4)):
        struct.pack_into(">i", each, 12, epoch)
    found = analyse(first + second + third)
    assert found.up_to_epoch(4) is found
    some = found.up_to_epoch(3)
    assert some == analyse(first + second)
    assert found.up_to_epoch(2) == analyse(first)
    assert not found.up_to_epoch(0).batches


def test_offsets_increase_from_batch_to_batch() -> None:
    analyse(batch(0, 5) + batch(5))
    analyse(batch(0, 5) + batch(9))
    for later in (4, 0, -3):
        with pytest.raises(OffsetsOutOfOrder):
            analyse(batch(0, 5) + batch(later, 2))


def test_the_first_offsets_are_told_of_batches_out_of_order() -> None:
    with pytest.raises(OffsetsOutOfOrder) as raised:
        analyse(batch(0, 5) + batch(3, 2))
    assert str(raised.value) == (
        "a batch at offset 3 after 4; the batches are at offsets 0, 3"
    )
    many = b"".join(bytes(batch(offset)) for offset in (*range(20), 3))
    with pytest.raises(OffsetsOutOfOrder) as raised:
        analyse(many)
    assert str(raised.value).endswith("at offsets 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...")


def test_every_checksum_is_compared() -> None:
    sound = batch(0) + batch(1) + batch(2)
    for position in (30, len(sound) // 2, len(sound) - 1):
        damaged = bytearray(sound)
        damaged[position] ^= 1
        with pytest.raises(CorruptMessage):
            analyse(damaged)


def test_lengths_and_formats_that_no_batch_has() -> None:
    for position, value in ((8, 0xFF), (11, 3), (16, 1)):
        damaged = batch(0)
        damaged[position] = value
        if position == 11:
            damaged[8:11] = bytes(3)
        with pytest.raises(CorruptMessage):
            analyse(damaged)
