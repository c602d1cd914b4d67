import pytest

from odradek.broker.config.text.offset_reset import OffsetReset, parse_offset_reset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latest", OffsetReset("latest")),
        ("earliest", OffsetReset("earliest")),
        ("by_duration:PT1H", OffsetReset("by_duration", 3_600_000)),
        ("by_duration:P2DT3H4M5.678S", OffsetReset("by_duration", 183_845_678)),
        ("by_duration:PT0S", OffsetReset("by_duration", 0)),
        ("by_duration:PT0.5S", OffsetReset("by_duration", 500)),
        ("by_duration:pt1.s", OffsetReset("by_duration", 1_000)),
        ("by_duration:P1D", OffsetReset("by_duration", 86_400_000)),
    ],
)
def test_where_a_group_may_begin(text: str, expected: OffsetReset) -> None:
    assert parse_offset_reset(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "LATEST",
        "by_duration",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:P1DT",
        "by_duration:-PT1H",
        "by_duration:PT-1H",
        "by_duration:P1Y",
        "by_duration:PT1H ",
        "by_duration:1h",
        "earliest:PT1H",
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_offset_reset(text)
