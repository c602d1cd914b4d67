"""A typo in any option of any command is answered with the option that was meant."""

import contextlib
import io

import pytest

from odradek.broker.cli.completion import words
from odradek.broker.cli.main import main

FIRST = {
    "config example": ["server"],
    "trace": ["produce"],
    "config alter": ["topic", "t"],
    "config describe": ["topic", "t"],
}


def test_the_option_that_was_meant() -> None:
    for command, found in words().items():
        flags = found if found[0].startswith("--") else []
        for flag in flags:
            typo = f"{flag[:-2]}{flag[-1]}{flag[-2]}"
            if typo == flag:
                continue
            said = said_to([*command.split(), *FIRST.get(command, []), typo, "x"])
            assert f"unknown argument {typo}; did you mean {flag}?" in said, command
            assert said.count("\n") == 1


def said_to(arguments: list[str]) -> str:
    error = io.StringIO()
    with contextlib.redirect_stderr(error), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    return error.getvalue()
