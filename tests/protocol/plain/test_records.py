import pytest
from hypothesis import given

from odradek.protocol.plain import records as records_plain
from tests.plain import records as described
from tests.protocol.record_payloads import INT64, anything


@given(anything, INT64)
def test_summary_is_as_described(case: tuple[bytes, int], base: int) -> None:
    payload, count = case
    try:
        wanted = described.summarize(payload, count, base)
    except described.MalformedError:
        with pytest.raises(ValueError, match=r"^(Record \d+ of the|The) batch"):
            records_plain.summarize(payload, count, base)
    else:
        assert records_plain.summarize(payload, count, base) == wanted


@given(INT64, INT64)
def test_sums_wrap_as_in_java(left: int, right: int) -> None:
    wanted = described.java_long(left + right)
    assert records_plain.wrap_int64(left + right) == wanted
