import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MANY_LINES = (
    "from odradek.terminal.pipe import quiet_pipe\n"
    "with quiet_pipe():\n"
    "    for _ in range(100_000): print('a line of output')\n"
)


def test_a_reader_that_goes_away_hears_nothing_more() -> None:
    script = (
        "import sys\n"
        "try:\n    exec(sys.argv[1])\n"
        "except BrokenPipeError:\n    sys.exit(3)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, MANY_LINES],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        assert writer.stdout.readline() == b"a line of output\n"
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 3


def test_what_the_output_cannot_show_is_escaped() -> None:
    script = (
        "from odradek.terminal.pipe import quiet_pipe\n"
        "with quiet_pipe(): print('\\u952e')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "\\u952e\n"


def shell(line: str) -> tuple[int, str]:
    """The exit code of a line, and what it said on standard error."""
    done = subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("version >&-", 1, "odradek version: Bad file descriptor\n"),
        ("version >/dev/full", 1, "odradek version: No space left on device\n"),
        ("--help >/dev/full", 1, "odradek --help: No space left on device\n"),
        ("--help | head -0", 0, ""),
        ("tpoic 2>&-", 2, ""),
        ("completion fish <&- | head -1 >/dev/null", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(line: str, code: int, error: str) -> None:
    assert shell(f'"$0" -m odradek {line}') == (code, error)
