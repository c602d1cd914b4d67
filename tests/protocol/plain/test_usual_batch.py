"""The C check of the usual batch and its plain twin agree on any batch."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.plain import usual_batch as usual_batch_plain
from odradek.protocol.record_batch import BATCH_OVERHEAD, read_header, restamp_crc
from odradek.protocol.records import NewRecord, build_batch

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)

BOTH = pytest.mark.parametrize("module", [usual_batch_plain, speedups])
NOW = 1_700_000_000_000
FOREVER = 2**63 - 1
INT64 = st.integers(-(2**63), 2**63 - 1)

records = st.lists(
    st.builds(
        NewRecord,
        st.none() | st.binary(max_size=3),
        st.none() | st.binary(max_size=20),
        st.integers(NOW - 3, NOW + 3) | st.integers(-3, 3),
    ),
    min_size=1,
    max_size=3,
)
spans = st.sampled_from([0, 3, FOREVER]) | st.integers(0, FOREVER)


@given(
    records,
    st.integers(0, 200),
    st.binary(max_size=4),
    st.booleans(),
    st.just(NOW) | INT64,
    spans,
    spans,
    st.booleans(),
)
def test_both_say_the_same(
    made: list[NewRecord],
    place: int,
    octets: bytes,
    is_restamped: bool,
    now_ms: int,
    before_max_ms: int,
    after_max_ms: int,
    takes_null_keys: bool,
) -> None:
    batch = build_batch(made)
    place %= len(batch)
    batch[place : place + len(octets)] = octets
    if is_restamped and read_header(batch).size == len(batch):
        restamp_crc(batch)
    rules = now_ms, before_max_ms, after_max_ms, takes_null_keys
    found = speedups.check_usual(batch, *rules)
    assert found == usual_batch_plain.check_usual(batch, *rules)
    assert found is None or found == tuple(read_header(batch))


@BOTH
def test_what_is_in_time_is_usual(module: ModuleType) -> None:
    batch = build_batch([NewRecord(b"k", b"v", NOW)])
    assert module.check_usual(batch, NOW, 0, 0, False) == tuple(read_header(batch))
    assert module.check_usual(batch, NOW + 1, 0, 0, False) is None
    assert module.check_usual(batch, NOW - 1, 0, 0, False) is None
    assert module.check_usual(batch, NOW + 1, 1, 0, False) is not None
    assert module.check_usual(batch, NOW - 1, 0, 1, False) is not None
    assert module.check_usual(batch, -(2**63), 0, FOREVER, False) is None
    assert module.check_usual(batch, 2**63 - 1, FOREVER, 0, False) is not None


@BOTH
def test_records_without_keys_where_they_are_not_taken(
    module: ModuleType,
) -> None:
    batch = build_batch([NewRecord(None, b"v", NOW)])
    assert module.check_usual(batch, NOW, 0, 0, True) is not None
    assert module.check_usual(batch, NOW, 0, 0, False) is None


@BOTH
def test_wrong_arguments(module: ModuleType) -> None:
    assert module.check_usual(bytes(BATCH_OVERHEAD - 1), NOW, 0, 0, True) is None
    with pytest.raises(ValueError, match="a time span is negative"):
        module.check_usual(b"", NOW, -1, 0, True)
    with pytest.raises(ValueError, match="a time span is negative"):
        module.check_usual(b"", NOW, 0, -1, True)
    with pytest.raises(TypeError):
        module.check_usual(b"")
