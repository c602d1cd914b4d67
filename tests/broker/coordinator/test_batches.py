"""Batches of a coordinator: as many records as fit, and whose transaction it is."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator import batches
from odradek.broker.coordinator.batches import (
    BATCH_RESERVE,
    batch_of,
    batch_of_one,
    in_batches,
    in_segments,
)
from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.protocol.record_batch import NO_SEQUENCE, read_header
from odradek.protocol.records import iterate
from tests.broker.coordinator.tally import Counted

SIZE_MAX = 1000


def test_records_that_fit_share_a_batch() -> None:
    records = [Counted(f"{number:0100}", 1) for number in range(20)]
    batches = list(in_batches(records, SIZE_MAX))
    assert 1 < len(batches) < 10
    assert [each for some in batches for each, _, _ in some] == records
    for some in batches:
        assert len(batch_of(some, None, 0)) <= SIZE_MAX


def test_a_record_that_fits_nowhere_has_a_batch_of_its_own() -> None:
    records = [Counted("a", 1), Counted("x" * SIZE_MAX, 1), Counted("b", 1)]
    assert [len(some) for some in in_batches(records, SIZE_MAX)] == [1, 1, 1]
    assert BATCH_RESERVE < SIZE_MAX


def test_as_many_batches_go_together_as_a_segment_takes() -> None:
    records = [Counted(f"{number:0500}", 1) for number in range(5)]
    batches = [
        (some, batch_of(some, None, 0)) for some in in_batches(records, SIZE_MAX)
    ]
    size = len(batches[0][1])
    for size_max, counts in ((5 * size, [5]), (2 * size, [2, 2, 1]), (1, [1] * 5)):
        assert list(map(len, in_segments(batches, size_max))) == counts
    assert list(in_segments(batches[:1], 1)) == [batches[:1]]


def test_a_batch_is_of_nobody_or_part_of_a_transaction() -> None:
    (some,) = in_batches([Counted("a", 1), Counted("b", None)], SIZE_MAX)
    plain = read_header(batch_of(some, None, 77))
    assert (plain.producer_id, plain.is_transactional) == (-1, False)
    assert plain.base_sequence in (0, NO_SEQUENCE)
    batch = batch_of(some, ProducerIdentity(5, 2), 77)
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch) == (5, 2)
    assert header.is_transactional
    assert header.base_sequence == 0
    found = [(each.key, each.value, each.timestamp) for each in iterate(batch)]
    assert found == [(b"a", b"1", 77), (b"b", None, 77)]


@given(
    st.binary(max_size=200),
    st.none() | st.binary(max_size=20_000),
    st.integers(0, 2**62),
)
def test_a_batch_of_one_is_as_any_other(
    key: bytes, value: bytes | None, now_ms: int
) -> None:
    wanted = batch_of([(Counted("", 1), key, value)], None, now_ms)
    assert batch_of_one(key, value, now_ms) == wanted


def test_only_short_keys_are_remembered() -> None:
    kept = batches._known_before_value
    kept.cache_clear()
    size_max = batches._KEPT_KEY_SIZE_MAX
    for size in (size_max, size_max + 1, 32_000):
        key = b"k" * size
        (record,) = iterate(batch_of_one(key, b"v", 77))
        assert (record.key, record.value) == (key, b"v")
    assert kept.cache_info().currsize == 1
