"""Progress: JSON lines for programs, one changing line for people."""

import io
import json

from odradek.pipeline.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_one_json_line_for_each_step() -> None:
    times = iter([0.0, 2.0, 2.5])
    stream = io.StringIO()
    progress = Progress(stream, lambda: next(times))
    progress.done("batch", 1000, 4_000_000, remaining=7, batch=3)
    progress.done("batch", 100, 0, batch=4)
    progress.note("retry", reason="x")
    progress.show("not here", count=1)
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


def test_a_terminal_has_one_line() -> None:
    times = iter([0.0, 1.0, 2.0])
    stream = Terminal()
    progress = Progress(stream, lambda: next(times))
    progress.done("batch", 1000, 4_000_000, remaining=1234, batch=3)
    progress.done("batch", 1, 0, batch=4)
    progress.show("export", tasks=3)
    progress.end()
    said = stream.getvalue()
    assert said.count("\n") == 1
    assert "1,000 records, 1,000/s, 4.0 MB/s, 1,234 remaining" in said
    # What was longer is wiped out.
    assert len(said.split("\r")[2]) >= len(said.split("\r")[1])
