import argparse

import pytest

from odradek.broker.cli.config.words import name_only, name_value


def test_names_and_values() -> None:
    assert name_value("a.b = c=d ") == ("a.b", "c=d")
    assert name_value("a=") == ("a", "")
    assert name_only(" a ") == "a"


@pytest.mark.parametrize("text", ["", "a", "=b"])
def test_what_sets_nothing(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="sets nothing"):
        name_value(text)


@pytest.mark.parametrize("text", ["", "a=b"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="cannot be the name of an op"):
        name_only(text)
