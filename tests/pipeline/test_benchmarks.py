"""Benchmarks of the pipeline refuse numbers that cannot be, before they do anything."""

import runpy
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.parametrize(
    ("script", "given", "said"),
    [
        ("pipeline_sink", "--batches 0", "--batches: 0 is too few; at least 3"),
        ("pipeline_sink", "--rounds x", "--rounds: 'x' is not a whole number"),
        ("pipeline_sink", "--seconds nan", "'nan' is not a number of seconds"),
        ("pipeline_sink", "--seconds 0", "0 s is too short; at least 1"),
        ("pipeline_sink", "--formats hudi", "no hudi; there are parquet, delta,"),
        ("pipeline_load", "--rows 0", "at least 4"),
        ("pipeline_load", "--record-size 10", "at least 11"),
        ("pipeline_wire", "--size -1", "-1 is too few; at least 1"),
        ("pipeline_wire", "--rounds 0", "at least 1"),
        ("pipeline_memory", "--size 0", "at least 1"),
        ("pipeline_topics", "--topics 0", "at least 1"),
        ("pipeline_segments", "--size 0", "at least 1"),
        ("pipeline_segments", "--codec lzma", "choose from"),
        ("pipeline_segments", "--paths ,", "no name; there are count, parquet, audit"),
        ("pipeline_decode", "--seconds -1", "-1 s is too short"),
        ("many_commits", "--window 0", "at least 1"),
    ],
)
def test_number_that_cannot_be_is_one_sentence(
    script: str,
    given: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    option, _, value = given.partition(" ")
    monkeypatch.setattr(sys, "argv", [script, f"{option}={value}"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCH / f"{script}.py"), run_name="__main__")
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
