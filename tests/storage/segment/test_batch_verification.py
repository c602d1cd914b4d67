import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.record_batch import BatchHeader
from odradek.storage.segment import batch_verification
from odradek.storage.segment.batch_verification import BatchVerification, IsGap
from tests.storage.batches import batch

BATCHES = [bytes(batch(number, 1)) for number in range(4)]
SIZE = len(BATCHES[0])
DATA = b"".join(BATCHES)


def damaged(*numbers: int) -> bytes:
    data = bytearray(DATA)
    for number in numbers:
        data[(number + 1) * SIZE - 1] ^= 1
    return bytes(data)


def always(header: BatchHeader) -> bool:
    return True


def check(
    verification: BatchVerification,
    data: bytes,
    position: int = 0,
    *,
    limit: int = 1 << 40,
    is_gap: IsGap = always,
) -> int:
    run = verification.begin(position, position // SIZE)
    return verification.check(run, data, position, limit, is_gap)


def test_whole_batches_pass() -> None:
    assert check(BatchVerification(len(DATA)), DATA) == len(DATA)


def test_data_ends_before_a_damaged_batch() -> None:
    assert check(BatchVerification(len(DATA)), damaged(2)) == 2 * SIZE
    assert check(BatchVerification(10_000), damaged(0)) == 0


@pytest.mark.parametrize("data", [bytes(100), b"\xff" * 100])
def test_what_is_no_batch_is_refused(data: bytes) -> None:
    assert check(BatchVerification(10_000), data) == 0


@pytest.mark.parametrize("at", [16, 17, 22, 30])
def test_flipped_header_is_refused(at: int) -> None:
    data = bytearray(DATA)
    data[SIZE + at] ^= 1
    assert check(BatchVerification(10_000), data) == SIZE


def test_bytes_appended_by_this_process_are_trusted() -> None:
    assert check(BatchVerification(SIZE), damaged(1)) == len(DATA)


def test_everything_is_trusted_once_a_run_reaches_the_trusted_part() -> None:
    verification = BatchVerification(len(DATA))
    check(verification, DATA[SIZE:], SIZE)
    assert verification.trusted_from == SIZE
    check(verification, DATA[:SIZE])
    assert verification.trusted_from == 0


def test_run_grows_with_a_reader_and_cut_batches_are_left() -> None:
    verification = BatchVerification(len(DATA))
    assert check(verification, DATA[: SIZE + 5]) == SIZE + 5
    assert check(verification, damaged(0)[:SIZE]) == SIZE
    assert check(verification, damaged(1)[SIZE:], SIZE) == 0


def test_cut_first_batch_is_neither_good_nor_bad() -> None:
    verification = BatchVerification(len(DATA))
    assert check(verification, DATA[:50]) == 50
    assert check(verification, damaged(0)) == 0


def test_readers_at_several_places_are_remembered_and_meet() -> None:
    verification = BatchVerification(10_000)
    for number in (2, 0, 3, 1):
        check(verification, BATCHES[number], number * SIZE)
    assert check(verification, damaged(0, 1, 2, 3)) == len(DATA)
    first = verification.run_at(0)
    assert first is not None
    assert (first.start, first.end, first.next_offset) == (0, len(DATA), 4)


def test_places_of_readers_are_not_remembered_without_end() -> None:
    verification = BatchVerification(1 << 40)
    check(verification, DATA)
    for number in range(1, 3000):
        verification.begin(number * 10_000, number)
    assert verification.run_at(2999 * 10_000) is not None
    assert verification.run_at(2 * 10_000) is None
    assert check(verification, damaged(0, 1, 2, 3)) == len(DATA)


def test_recovery_makes_bytes_trusted() -> None:
    verification = BatchVerification(len(DATA))
    verification.trust(2 * SIZE)
    assert check(verification, damaged(2)) == len(DATA)


def test_trust_from_inside_a_run_includes_the_run() -> None:
    verification = BatchVerification(10_000)
    check(verification, DATA[SIZE:], SIZE)
    verification.trust(2 * SIZE)
    assert verification.trusted_from == SIZE
    assert verification.run_at(3 * SIZE) is None


# Offsets, which the checksum does not cover.


def test_offset_that_falls_back_is_damage() -> None:
    data = DATA[:SIZE] + bytes(batch(0)) + DATA[2 * SIZE :]
    assert check(BatchVerification(10_000), data) == SIZE


def test_offset_in_the_next_segment_is_damage() -> None:
    assert check(BatchVerification(10_000), DATA, limit=3) == 3 * SIZE


def test_a_gap_is_one_if_somebody_says_so() -> None:
    data = DATA[:SIZE] + bytes(batch(9)) + DATA[2 * SIZE :]
    asked = []

    def is_gap(header: BatchHeader) -> bool:
        asked.append(header.base_offset)
        return False

    verification = BatchVerification(10_000)
    assert check(verification, data[: 2 * SIZE], is_gap=is_gap) == SIZE
    assert asked == [9]
    assert check(BatchVerification(10_000), data[: 2 * SIZE]) == 2 * SIZE


# Many at once, as if it were one by one.


@given(
    st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=1, max_size=12),
    st.integers(0, 15 * SIZE) | st.none(),
    st.integers(0, 15 * SIZE),
    st.sampled_from([0, 3, 1 << 40, 1 << 63]),
    st.sampled_from([1, 2, 5, 4096]),
    st.booleans(),
)
def test_many_are_verified_as_one_by_one(
    steps: list[int],
    broken_at: int | None,
    trusted_from: int,
    limit: int,
    many: int,
    gaps_are_right: bool,
) -> None:
    data, offset = bytearray(), 0
    for step in steps:
        data += batch(offset)
        offset += step
    if broken_at is not None:
        data[broken_at % len(data)] ^= 1
    outcomes = []
    for many_size in (1, 1 << 40):
        asked: list[int] = []

        def is_gap(header: BatchHeader, asked: list[int] = asked) -> bool:
            asked.append(header.base_offset)
            return gaps_are_right

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch_verification, "_MANY_SIZE", many_size)
            patch.setattr(batch_verification, "_MANY_MAX", many)
            verification = BatchVerification(trusted_from)
            size = check(verification, bytes(data), limit=limit, is_gap=is_gap)
        run = verification.run_at(0)
        assert run is not None
        outcomes.append(
            (size, run.end, run.next_offset, verification.trusted_from, asked)
        )
    assert outcomes[0] == outcomes[1]
