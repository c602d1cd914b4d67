from argparse import ArgumentTypeError

import pytest

from odradek.broker.cli.arguments.moments import (
    duration_ms,
    duration_text,
    instant_ms,
    moment_ms,
    moment_text,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.234Z", 1234),
        ("1970-01-01T00:00:01.234", 1234),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("2023-11-14T22:13:20+00:00", 1_700_000_000_000),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert moment_ms(text) == expected


@pytest.mark.parametrize(
    "text", ["", "today", "1700000000000", "2026-13-01", "1969-12-31T23:59:59Z"]
)
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"write it like 2026|before 1970"):
        moment_ms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 500),
        ("1.5s", 1500),
        ("2m", 120_000),
        ("2h", 7_200_000),
        ("7d", 604_800_000),
        ("PT2H", 7_200_000),
        ("P7D", 604_800_000),
        ("P1DT1H1M1.5S", 90_061_500),
        ("PT0S", 0),
    ],
)
def test_durations(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "2", "h", "-1h", "1w", "P", "PT", "P1DT", "1h2m"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="write it like 2h"):
        duration_ms(text)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_767_225_600_250, "2026-01-01T00:00:00.250Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1 << 62, "4611686018427387904"),
    ],
)
def test_how_a_moment_is_shown(moment: int, expected: str) -> None:
    assert moment_text(moment) == expected


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (-5, "0s"),
        (250, "0.25s"),
        (59_999, "59.999s"),
        (60_000, "1m"),
        (90_000, "1m 30s"),
        (3_605_000, "1h"),
        (26 * 3_600_000 + 5, "1d 2h"),
    ],
)
def test_how_a_duration_is_shown(duration: int, expected: str) -> None:
    assert duration_text(duration) == expected


def test_instants() -> None:
    assert instant_ms("1970-01-01T00:00:01.234Z") == instant_ms("1234") == 1234
    for parse, text in (
        (instant_ms, "9" * 30),
        (duration_ms, "9" * 30 + "d"),
        (duration_ms, f"P{'9' * 30}D"),
    ):
        with pytest.raises(ArgumentTypeError, match="is too much"):
            parse(text)
