"""Options: on the command line, in the file, and which of the two goes first."""

import pytest

from odradek.testing.plugin.options import Settings
from tests.testing.inner import INI

pytest_plugins = ("pytester",)


def settings(pytester: pytest.Pytester, file: str, *arguments: str) -> Settings:
    pytester.makeini(INI + file)
    return Settings.of(pytester.parseconfig(*arguments))


def test_without_any_a_broker_is_shared_and_removed(pytester: pytest.Pytester) -> None:
    assert settings(pytester, "") == Settings("", False, False, False)


def test_the_file_says_what_the_command_line_does_not(
    pytester: pytest.Pytester,
) -> None:
    file = """
odradek_bootstrap = kafka:9092
odradek_xdist = worker
odradek_keep = true
odradek_strict = true
"""
    assert settings(pytester, file) == Settings("kafka:9092", True, True, True)
    found = settings(
        pytester, file, "--odradek-bootstrap=other:1", "--odradek-xdist=run"
    )
    assert found == Settings("other:1", False, True, True)


def test_flags(pytester: pytest.Pytester) -> None:
    found = settings(pytester, "", "--odradek-keep", "--odradek-strict")
    assert found == Settings("", False, True, True)


def test_a_mode_that_nobody_knows_is_refused(pytester: pytest.Pytester) -> None:
    with pytest.raises(pytest.UsageError, match="'each'; it is run or worker"):
        settings(pytester, "odradek_xdist = each")


@pytest.mark.parametrize("name", ["keep", "strict"])
def test_a_flag_that_is_neither_is_named(pytester: pytest.Pytester, name: str) -> None:
    said = rf"^odradek_{name}: .*'ja'; it is true or false$"
    with pytest.raises(pytest.UsageError, match=said):
        settings(pytester, f"odradek_{name} = ja")
