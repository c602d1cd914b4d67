import re
from collections import Counter
from pathlib import Path

import pytest

from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.listener import HostPort, Listener
from odradek.broker.config.options.option import (
    Kind,
    Option,
    OptionError,
    format_value,
    option,
)
from odradek.broker.config.topic_config import TOPIC_OPTIONS

ROOT = Path(__file__).parents[4]
_BY_NAME = (".factor", ".isr", ".protocol")


def an_option(kind: Kind, **more: object) -> Option:
    return Option("some.name", kind, None, "Means something.", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.INT, "-5", -5),
        (Kind.INT, " 2147483647 ", 2147483647),
        (Kind.SHORT, "-32768", -32768),
        (Kind.LONG, "9223372036854775807", (1 << 63) - 1),
        (Kind.DOUBLE, "0.5", 0.5),
        (Kind.DOUBLE, "1.7976931348623157E308", 1.7976931348623157e308),
        (Kind.BOOLEAN, "TRUE", True),
        (Kind.BOOLEAN, "false", False),
        (Kind.STRING, " a b ", "a b"),
        (Kind.LIST, "a, b,,c ", ("a", "b", "c")),
        (Kind.LIST, "", ()),
    ],
)
def test_text_becomes_a_value(kind: Kind, text: str, value: object) -> None:
    assert an_option(kind).parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (Kind.INT, "abc", "Not a number of type INT"),
        (Kind.INT, "2147483648", "Not a number of type INT"),
        (Kind.INT, "1_000", "Not a number of type INT"),
        (Kind.INT, "٣", "Not a number of type INT"),
        (Kind.INT, "", "Not a number of type INT"),
        (Kind.SHORT, "32768", "Not a number of type SHORT"),
        (Kind.LONG, "9223372036854775808", "Not a number of type LONG"),
        (Kind.LONG, "1.5", "Not a number of type LONG"),
        (Kind.DOUBLE, "half", "Not a number of type DOUBLE"),
        (Kind.DOUBLE, "nan", "Not a number of type DOUBLE"),
        (Kind.BOOLEAN, "yes", "Expected value to be either true or false"),
    ],
)
def test_text_of_another_type_is_refused(kind: Kind, text: str, why: str) -> None:
    with pytest.raises(OptionError) as refused:
        an_option(kind).parse(text)
    assert str(refused.value) == (
        f"Invalid value {text} for configuration some.name: {why}"
    )


def test_bounds_are_inclusive() -> None:
    bounded = an_option(Kind.INT, at_least=1, at_most=3)
    assert [bounded.parse(text) for text in "123"] == [1, 2, 3]
    with pytest.raises(OptionError, match="Value must be at least 1"):
        bounded.parse("0")
    with pytest.raises(OptionError, match="Value must be no more than 3"):
        bounded.parse("4")


def test_every_entry_of_a_list_must_be_a_choice() -> None:
    policies = an_option(Kind.LIST, choices=("compact", "delete"))
    assert policies.parse("delete,compact") == ("delete", "compact")
    with pytest.raises(OptionError, match="String must be one of: compact, delete"):
        policies.parse("delete,squash")


def test_a_reader_of_its_own_names_the_option_when_it_fails() -> None:
    with pytest.raises(OptionError, match=r"configuration some\.name: invalid literal"):
        an_option(Kind.STRING, read=int).parse("x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (("a", "b"), "a,b"),
        ((), ""),
        (HostPort("127.0.0.1", 9404), "127.0.0.1:9404"),
        ((Listener("A", "", 1), Listener("B", "::1", 2)), "A://:1,B://[::1]:2"),
        ("text", "text"),
    ],
)
def test_values_are_shown_as_clients_expect_them(
    value: object, text: str | None
) -> None:
    assert format_value(value) == text


@pytest.mark.parametrize(
    ("default", "kind"),
    [
        (True, Kind.BOOLEAN),
        (1, Kind.INT),
        (1.5, Kind.DOUBLE),
        ((), Kind.LIST),
        ("x", Kind.STRING),
    ],
)
def test_the_default_says_the_kind(default: object, kind: Kind) -> None:
    assert option(default, "a.b", "Meaning.").metadata["option"].kind is kind


def test_every_option_is_used_by_something_or_says_that_it_is_not() -> None:
    sources = [
        path.read_text()
        for package in ("broker", "storage")
        for path in (ROOT / package).rglob("*.py")
        if path.stem == "cluster_options"
        or not path.stem.endswith(("_options", "broker_config"))
    ]
    # Properties of the table stand for several options each.
    sources.append((ROOT / "broker/config/options/broker_config.py").read_text())
    words = Counter(re.findall(r'self\.\w+|\.\w+|"[\w.]+"', "\n".join(sources)))
    behind_topics = {name for each in TOPIC_OPTIONS.values() for name in each.synonyms}
    for name, (field, known) in OPTIONS.items():
        is_read = words[f".{field}"] or words[f"self.{field}"] or name in behind_topics
        # Asked for by their names.
        if known.is_per_listener or name.endswith(_BY_NAME):
            is_read = is_read or words[f'"{name}"'] > 1
        has_one_value = known.at_least is not None and known.at_least == known.at_most
        if known.is_used:
            assert is_read or has_one_value, name
        else:
            assert known.full_meaning.endswith("Accepted; changes nothing yet.")
