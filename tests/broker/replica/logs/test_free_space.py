import sys
from pathlib import Path

import pytest

from odradek.broker.replica.logs.free_space import FreeSpace, free_bytes

FULL, ROOMY = Path("/full"), Path("/roomy")


def test_directories_below_the_minimum_are_low() -> None:
    free = {FULL: 99, ROOMY: 100}
    space = FreeSpace([FULL, ROOMY], 100, free.__getitem__)
    space.sample_if_due(1_000_000)
    assert space.low_directories == {FULL}


def test_it_is_measured_now_and_then_by_any_clock() -> None:
    free = {FULL: 1000}
    calls: list[Path] = []

    def measure(directory: Path) -> int:
        calls.append(directory)
        return free[directory]

    space = FreeSpace([FULL], 100, measure)
    for now_ms in (0, 0, 100, 249):
        space.sample_if_due(now_ms)
    assert len(calls) == 1
    free[FULL] = 1
    space.sample_if_due(250)
    assert space.low_directories == {FULL}
    space.sample_if_due(-3_600_000)  # the wall clock was set back an hour
    assert len(calls) == 3


def test_the_real_measure(tmp_path: Path) -> None:
    assert 0 < free_bytes(tmp_path) < sys.maxsize
    assert free_bytes(tmp_path / "gone") == sys.maxsize


def test_a_line_says_when_records_are_refused_and_when_not_any_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    free = {FULL: 99}
    space = FreeSpace([FULL], 100, free.__getitem__)
    for now_ms in (0, 1000):
        space.sample_if_due(now_ms)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "/full has less than 100 bytes free" in caplog.text
    free[FULL] = 100
    space.sample_if_due(2000)
    assert "/full has space again" in caplog.text
    assert space.low_count == 1
