"""Progress: JSON lines for programs, one changing line for people."""

import io
import json

import pytest

from odradek.terminal.progress import Progress, rates, size_text

CLEAR = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A time that goes on by a second whenever it is asked."""

    def __init__(self, step_s: float = 1.0) -> None:
        self._now_s = 0.0
        self._step_s = step_s

    def __call__(self) -> float:
        self._now_s += self._step_s
        return self._now_s


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "0 B"), (999, "999 B"), (12_500_000, "12.5 MB"), (3e15, "3000 TB")],
)
def test_sizes(size: float, expected: str) -> None:
    assert size_text(size) == expected


def test_rates() -> None:
    assert rates(1, 10, 0).startswith("1 record, 10 B (")
    assert (
        rates(3000, 3_000_000, 2) == "3,000 records, 3 MB (1,500 records/s, 1.5 MB/s)"
    )


def test_a_terminal_sees_one_line_that_goes_away() -> None:
    terminal = Terminal()
    progress = Progress(terminal, Clock())
    progress.flow("to t", 10, 1000, 100)
    assert terminal.getvalue().startswith(f"{CLEAR}to t: 10 records, 1 KB (")
    assert ", 10 %, " in terminal.getvalue()
    progress.end()
    assert terminal.getvalue().endswith(CLEAR)


def test_the_line_changes_twice_a_second_at_most() -> None:
    terminal = Terminal()
    progress = Progress(terminal, Clock(0.2))
    progress.flow("to t", 10, 1000)
    assert not terminal.getvalue()
    for _ in range(10):
        progress.flow("to t", 10, 1000)
    assert 2 <= terminal.getvalue().count(CLEAR) <= 5


def test_a_file_sees_nothing_of_what_is_not_done() -> None:
    stream = io.StringIO()
    progress = Progress(stream, Clock())
    progress.flow("to t", 10, 1000)
    progress.show("to t", count=1)
    progress.end()
    assert stream.getvalue() == ""


def test_it_is_said_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Progress().note("begun")
    assert json.loads(capsys.readouterr().err) == {"step": "begun"}


def test_one_json_line_for_each_step() -> None:
    times = iter([0.0, 2.0, 2.5])
    stream = io.StringIO()
    progress = Progress(stream, lambda: next(times))
    progress.done("batch", 1000, 4_000_000, remaining=7, batch=3)
    progress.done("batch", 100, 0, batch=4)
    progress.note("retry", reason="x")
    progress.end()
    first, second, third = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "step": "batch",
        "batch": 3,
        "records": 1000,
        "bytes": 4_000_000,
        "seconds": 2.0,
        "records_per_s": 500,
        "mb_per_s": 2.0,
        "remaining": 7,
    }
    assert second["records_per_s"] == 200
    assert "remaining" not in second
    assert third == {"step": "retry", "reason": "x"}


def test_what_is_done_stays_on_a_terminal() -> None:
    terminal = Terminal()
    progress = Progress(terminal, Clock())
    progress.show("export", tasks=3000)
    progress.note("export", files=7)
    progress.done("batch", 1, 0, batch=4)
    progress.done("batch", 1000, 4_000_000, remaining=1234, batch=3)
    progress.end()
    progress.end()
    shown, noted, _, done = terminal.getvalue().split(CLEAR)[1:]
    assert shown == "export: tasks 3,000"
    assert noted == "export: files 7\n"
    assert done == (
        "batch 3: 1,000 records, 4 MB (1,000 records/s, 4 MB/s), 1,234 remaining\n"
    )
