import io
import os
import pty
import sys
from collections.abc import Iterator

import pytest

from odradek.terminal.screen import Screen, Style, choose_colors, screen_of, styled


class Terminal(io.TextIOWrapper):
    """Says that it is one."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def auto() -> Iterator[None]:
    choose_colors("auto")
    yield
    choose_colors("auto")


def test_a_pipe_is_plain_and_has_no_width() -> None:
    screen = screen_of(io.StringIO(), {"COLUMNS": "40"})
    assert (screen.width, screen.has_colors) == (None, False)


def test_a_terminal_says_how_wide_it_is() -> None:
    ours, theirs = pty.openpty()
    try:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 93, 0, 0))
        with open(theirs, "w", closefd=False) as stream:
            assert screen_of(stream, {}).width == 93
            assert screen_of(stream, {"COLUMNS": "50"}).width == 50
            assert screen_of(stream, {"COLUMNS": "x"}).width == 93
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_that_does_not_say_how_wide_it_is() -> None:
    assert screen_of(Terminal(), {}).width is None


@pytest.mark.parametrize(
    ("environ", "choice", "has_colors"),
    [
        ({}, "auto", True),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": ""}, "auto", True),
        ({"TERM": "dumb"}, "auto", False),
        ({"NO_COLOR": "1", "TERM": "dumb"}, "always", True),
        ({}, "never", False),
    ],
)
def test_colors_of_a_terminal(
    environ: dict[str, str], choice: str, has_colors: bool
) -> None:
    choose_colors(choice)
    assert screen_of(Terminal(), environ).has_colors is has_colors


def test_always_is_also_for_a_pipe() -> None:
    choose_colors("always")
    assert screen_of(io.StringIO(), {}).has_colors


def test_what_is_cut_is_marked_as_the_output_can_show_it() -> None:
    assert screen_of(Terminal(), {}).ellipsis == "…"
    assert screen_of(Terminal("ascii"), {}).ellipsis == "~"


def test_styles_begin_and_end() -> None:
    screen = Screen(has_colors=True)
    assert screen.styled("x", Style.ERROR) == "\x1b[1;31mx\x1b[0m"
    assert screen.styled("x", None) == "x"
    assert screen.styled("", Style.ERROR) == ""
    assert Screen().styled("x", Style.ERROR) == "x"
    choose_colors("always")
    assert styled("x", Style.GOOD, sys.stderr) == "\x1b[32mx\x1b[0m"
