import pytest

from odradek.broker.control.fields import Fields
from odradek.broker.operate.admin_socket import AdminError


def test_fields_are_taken_by_their_types() -> None:
    given = {
        "name": "t",
        "count": 3,
        "share": 1,
        "on": True,
        "names": ["a"],
        "things": [1, {}],
        "config": {"a": 1},
    }
    fields = Fields(given)
    assert fields.text("name") == "t"
    assert fields.number("count", at_least=3, at_most=3) == 3
    assert fields.fraction("share") == 1.0
    assert fields.flag("on") is True
    assert fields.texts("names") == ["a"]
    assert fields.items("things") == [1, {}]
    assert fields.mapping("config") == {"a": 1}
    fields.end()


def test_what_is_not_there_has_its_default_and_null_is_not_there() -> None:
    fields = Fields({"a": None})
    assert fields.text("a", "x") == "x"
    assert fields.number("b", None, at_least=1) is None
    assert fields.choice("c", ("x", "y"), "z") == "z"
    assert not fields.has("a")
    fields.end()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda of: of.text("number"), "number is 7; it is a text"),
        (lambda of: of.text("none"), "none is missing: a text"),
        (lambda of: of.number("text"), "text is 'recrods'; it is a whole number"),
        (lambda of: of.number("flag"), "flag is True; it is a whole number"),
        (lambda of: of.number("number", at_least=8), "number is 7; it is at least 8"),
        (lambda of: of.number("number", at_most=6), "number is 7; it is at most 6"),
        (lambda of: of.fraction("flag"), "flag is True; it is a number"),
        (lambda of: of.flag("number"), "number is 7; it is true or false"),
        (lambda of: of.texts("list"), r"list is \[1\]; it is a list of texts"),
        (lambda of: of.items("text"), "it is a list"),
        (lambda of: of.mapping("text"), "it is an object"),
        (lambda of: of.choice("text", ("records", "lag")), "did you mean records?"),
        (lambda of: of.choice("text", ("lag", "fog")), "it is lag, fog"),
    ],
)
def test_what_makes_no_sense_is_refused(ask: object, message: str) -> None:
    fields = Fields({"number": 7, "text": "recrods", "flag": True, "list": [1]})
    with pytest.raises(AdminError, match=message) as caught:
        ask(fields)  # type: ignore[operator]
    assert caught.value.word == "bad-request"


def test_a_field_that_nobody_takes_is_refused_with_the_nearest_name() -> None:
    fields = Fields({"timeout": 5})
    fields.number("timeout_ms", 1)
    with pytest.raises(AdminError, match="did you mean timeout_ms"):
        fields.end()
    with pytest.raises(AdminError, match="fields: none"):
        Fields({"timeout": 5}).end()
