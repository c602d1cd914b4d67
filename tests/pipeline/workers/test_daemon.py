import subprocess
import sys
from typing import cast

import pytest

from odradek.pipeline.workers import daemon as worker_daemon

pytest.importorskip("pyspark")

# A worker of Spark's own daemon, whose connection is closed before its last words.
LAST_WORDS = """
import os, socket, sys
from pyspark import daemon
from odradek.pipeline.workers import daemon as ours

class Module:
    @staticmethod
    def main(infile, outfile):
        outfile.write(b"more than nothing")
        {then}

sys.argv[1:] = ["pyspark.of_this_test"]
sys.modules["pyspark.of_this_test"] = Module
here, there = socket.socketpair()
there.close()

def manager():
    os._exit(10 + daemon.worker(here, True))

daemon.manager = manager
ours.main()
"""


def last_words(then: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", LAST_WORDS.format(then=then)],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


def test_a_worker_that_is_let_go_says_nothing() -> None:
    for then in ("pass", "outfile.flush()", "sys.exit(1)"):
        code, said = last_words(then)
        assert code in (10, 11), said
        assert said == ""


def test_a_worker_that_fails_otherwise_says_so() -> None:
    _, said = last_words("raise RuntimeError('of ours')")
    assert "RuntimeError: of ours" in said


class Unraisable:
    """What Python tells of an error that nobody can catch."""

    def __init__(self, error: Exception) -> None:
        self.exc_value = error


def test_a_file_that_is_closed_too_late() -> None:
    """Python 3.13 and later tell of it."""
    told: list[object] = []
    hook = worker_daemon.unless_let_go(told.append)
    for error in (BrokenPipeError(), ConnectionResetError()):
        hook(cast("sys.UnraisableHookArgs", Unraisable(error)))
    assert told == []
    full = Unraisable(OSError(28, "No space left on device"))
    hook(cast("sys.UnraisableHookArgs", full))
    assert told == [full]


def test_prints_are_prints(capsys: pytest.CaptureFixture[str]) -> None:
    worker_daemon.said_unless_let_go("a", "b", file=sys.stderr)
    assert capsys.readouterr().err == "a b\n"
    try:
        raise BrokenPipeError
    except BrokenPipeError:
        worker_daemon.said_unless_let_go("nobody listens", file=sys.stderr)
    assert capsys.readouterr().err == ""
