import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MANY_LINES = (
    "from broker.cli.pipe import quiet_pipe\n"
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
        "from broker.cli.pipe import quiet_pipe\nwith quiet_pipe(): print('\\u952e')\n"
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
