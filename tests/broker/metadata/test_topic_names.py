import pytest

from odradek.broker.metadata.topic_names import check_name, collision_key
from odradek.protocol.errors import InvalidTopic


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "__mine", "...", "x" * 249])
def test_legal_names(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", r"'\.' is not allowed"),
        ("..", r"'\.\.' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "'a b' contains one or more characters other than ASCII"),
        ("m/x", "contains one or more characters"),
        ("č", "contains one or more characters"),
        ("a\n", "contains one or more characters"),
        ("a\x00", "contains one or more characters"),
    ],
)
def test_illegal_names_say_why(name: str, reason: str) -> None:
    with pytest.raises(InvalidTopic, match=reason):
        check_name(name)


def test_dots_and_underscores_are_too_alike() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a.b") != collision_key("a-b")
