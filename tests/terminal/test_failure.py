import json
from collections.abc import Iterator

import pytest

from odradek.terminal.failure import answer_in_json, fail

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    answer_in_json(False)


def test_a_failure_is_one_line(capsys: Captured) -> None:
    assert fail("health", 1, "first\n  second") == 1
    assert capsys.readouterr() == ("", "odradek health: first second\n")


def test_what_it_is_about_and_the_name_of_kafka_come_first(capsys: Captured) -> None:
    fail("topic delete", 1, "Gone.", what="a\tb", kafka_name="UNKNOWN")
    assert capsys.readouterr().err == "odradek topic delete: a\\tb: UNKNOWN: Gone.\n"


def test_programs_get_an_object_as_well(capsys: Captured) -> None:
    answer_in_json(True)
    fail("topic delete", 1, "Gone.", what="a", kafka_name="UNKNOWN", row={"topic": "a"})
    fail("topic delete", 1, "refused", name="UNREACHABLE")
    fail("topic delete", 2, "which?")
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "topic": "a",
            "error": {"code": "UNKNOWN", "message": "Gone.", "what": "a"},
        },
        {"error": {"code": "UNREACHABLE", "message": "refused", "what": None}},
        {"error": {"code": "USAGE", "message": "which?", "what": None}},
    ]
    assert err.splitlines() == [
        "odradek topic delete: a: UNKNOWN: Gone.",
        "odradek topic delete: refused",  # that name is only for programs
        "odradek topic delete: which?",
    ]
