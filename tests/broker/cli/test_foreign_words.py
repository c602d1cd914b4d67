import re

import pytest

from odradek.broker.cli import foreign_words
from odradek.broker.cli.completion import words
from odradek.broker.cli.foreign_words import advice
from odradek.broker.cli.main import BUILT_IN, main

ADVICE = foreign_words._ADVICE


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ["acls", "list"],
            "odradek acls: there is no such command; 'odradek acl' says",
        ),
        (["registry"], "odradek registry: there is no such command; odradek is not a"),
        (["start"], "'odradek serve' starts a broker"),
        (["--bootstrap-server", "a:1", "topic"], "odradek COMMAND --bootstrap-server"),
    ],
)
def test_who_comes_from_another_tool_is_told_what_to_type(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1


def test_none_of_these_words_is_a_command() -> None:
    assert not ADVICE.keys() & BUILT_IN.keys()
    assert advice("something") == ""


def test_what_is_said_is_there() -> None:
    commands = words()
    known = {*BUILT_IN} | set(commands)
    for said in ADVICE.values():
        for command, action in re.findall(r"'odradek (\w+)(?: ([a-z]+))?", said):
            assert command in known, said
            assert not action or f"{command} {action}" in known, said
    assert "--registry" in commands["consume"]
