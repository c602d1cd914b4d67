import io

import pytest

from odradek.terminal import progress as module
from odradek.terminal.progress import Progress, rates, size_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "0 B"), (999, "999 B"), (12_500_000, "12.5 MB"), (3e15, "3000 TB")],
)
def test_sizes(size: float, expected: str) -> None:
    assert size_text(size) == expected


def test_rates() -> None:
    assert rates(1, 10, 0).startswith("1 record, 10 B (")
    assert rates(3000, 3e6, 2) == "3000 records, 3 MB (1,500 records/s, 1.5 MB/s)"


def test_a_terminal_sees_one_line_that_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(module, "_INTERVAL_S", 0)
    progress = Progress("to t")
    progress.show(10, 1000, 100)
    assert terminal.getvalue().startswith("\r\x1b[Kto t: 10 records, 1 KB (")
    assert ", 10 %, " in terminal.getvalue()
    progress.end()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_file_sees_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_INTERVAL_S", 0)
    progress = Progress("to t")
    progress.show(10, 1000)
    progress.end()
    assert capsys.readouterr().err == ""
