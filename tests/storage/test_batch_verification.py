import pytest

from protocol.errors import CorruptMessage
from storage.batch_verification import BatchVerification
from tests.storage.batches import batch

BATCHES = [bytes(batch(number, 1)) for number in range(4)]
SIZE = len(BATCHES[0])
DATA = b"".join(BATCHES)


def damaged(*numbers: int) -> bytes:
    data = bytearray(DATA)
    for number in numbers:
        data[(number + 1) * SIZE - 1] ^= 1
    return bytes(data)


def test_whole_batches_pass() -> None:
    assert BatchVerification(len(DATA)).check(DATA, 0) == DATA


def test_data_ends_before_a_damaged_batch() -> None:
    assert BatchVerification(len(DATA)).check(damaged(2), 0) == DATA[: 2 * SIZE]


def test_damaged_first_batch_is_refused() -> None:
    with pytest.raises(CorruptMessage, match="position 500"):
        BatchVerification(10_000).check(damaged(0), 500)


def test_impossible_length_is_refused() -> None:
    with pytest.raises(CorruptMessage):
        BatchVerification(10_000).check(bytes(100), 0)


def test_bytes_appended_by_this_process_are_trusted() -> None:
    verification = BatchVerification(SIZE)
    data = damaged(1)
    assert verification.check(data, 0) == data


def test_everything_is_trusted_once_a_run_reaches_the_trusted_part() -> None:
    verification = BatchVerification(len(DATA))
    verification.check(DATA[SIZE:], SIZE)
    assert verification.trusted_from == SIZE
    verification.check(DATA[:SIZE], 0)
    assert verification.trusted_from == 0


def test_run_grows_with_a_reader_and_cut_batches_are_left() -> None:
    verification = BatchVerification(len(DATA))
    verification.check(DATA[: SIZE + 5], 0)
    first = damaged(0)[:SIZE]
    assert verification.check(first, 0) == first
    with pytest.raises(CorruptMessage):
        verification.check(damaged(1)[SIZE:], SIZE)


def test_cut_first_batch_is_neither_good_nor_bad() -> None:
    verification = BatchVerification(len(DATA))
    assert verification.check(DATA[:50], 0) == DATA[:50]
    with pytest.raises(CorruptMessage):
        verification.check(damaged(0), 0)


def test_recovery_makes_bytes_trusted() -> None:
    verification = BatchVerification(len(DATA))
    verification.trust(2 * SIZE)
    assert verification.check(damaged(2), 0) == damaged(2)
