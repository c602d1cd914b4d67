import re

import pytest

from odradek.broker.cli import foreign_words
from odradek.broker.cli.completion import words
from odradek.broker.cli.foreign_words import advice
from odradek.broker.cli.main import BUILT_IN, main
from odradek.terminal import foreign_options

ADVICE = foreign_words._ADVICE
TOOLS = foreign_words._TOOLS
OPTIONS = foreign_options._OPTIONS
CLUSTERS = foreign_options._OF_CLUSTERS
NAMED = re.compile(r"'odradek ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]+")


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
        (["kafka-topics.sh", "--list"], "'odradek topic' does that"),
        (["kafka-topic.sh"], "; in place of kafka-topics, 'odradek topic' does that"),
        (["kafka-storage.bat", "format"], "no directory has to be formatted"),
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
    assert not (ADVICE.keys() | TOOLS.keys()) & BUILT_IN.keys()
    assert advice("something") == advice("kafka-something") == ""


def test_what_is_said_is_there() -> None:
    commands = words()
    known = {*BUILT_IN} | set(commands)
    for said in [*ADVICE.values(), *TOOLS.values(), *all_advice()]:
        for command, action in NAMED.findall(said):
            assert command in known, said
            assert not action or f"{command} {action}" in known, said
    assert "--registry" in commands["consume"]


def all_advice() -> list[str]:
    return [said for each in (CLUSTERS, *OPTIONS.values()) for said in each.values()]


def test_options_of_other_tools_lead_to_some_that_are_there() -> None:
    known = words()
    for command, options in OPTIONS.items():
        flags = flags_of(known, command.split()[0])
        for option, said in options.items():
            named = NAMED.findall(said)
            there = flags.union(*(flags_of(known, each) for each, _ in named))
            assert {*FLAG.findall(said)} <= there, (command, option)


def flags_of(known: dict[str, list[str]], command: str) -> set[str]:
    parts = [each for each in known if each.split()[:1] == [command]]
    assert parts, command
    return {flag for each in parts for flag in known[each]}


def test_what_kafka_s_console_consumer_begins_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["consume", "--topic", "orders", "--from-beginning"])
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert "by itself, as in 'odradek consume orders'" in line
    assert line.count("\n") == 1
