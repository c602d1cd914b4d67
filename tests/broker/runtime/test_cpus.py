import os
from pathlib import Path

import pytest

from odradek.broker.runtime import cpus
from odradek.broker.runtime.cpus import usable_cpus


@pytest.fixture(autouse=True)
def four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus.os, "sched_getaffinity", lambda pid: {0, 1, 2, 5})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("max 100000\n", 4),
        ("250000 100000\n", 2.5),
        ("50000 100000\n", 0.5),
        ("900000 100000\n", 4),
        ("", 4),
        ("100000 0\n", 4),
        ("so much\n", 4),
    ],
)
def test_what_the_container_is_given(tmp_path: Path, text: str, count: float) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert usable_cpus(tmp_path) == count


@pytest.mark.parametrize(("quota", "count"), [("-1", 4), ("150000", 1.5)])
def test_what_an_older_container_is_given(
    tmp_path: Path, quota: str, count: float
) -> None:
    directory = tmp_path / "cpu"
    directory.mkdir()
    (directory / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (directory / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cpus(tmp_path) == count


def test_without_a_container_and_without_affinities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert usable_cpus(tmp_path) == 4
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cpus(tmp_path) == 1
