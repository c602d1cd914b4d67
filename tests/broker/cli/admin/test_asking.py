"""What answers on the socket is what the test says."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.admin import admin_client
from odradek.broker.cli.admin.asking import add_asking_arguments, run, shown
from odradek.terminal.parser import Parser

Captured = pytest.CaptureFixture[str]
ITEMS = [{"a": 1}, {"a": 2}]


def options(*arguments: str) -> argparse.Namespace:
    parser = Parser("x", "Ask it.", ())
    add_asking_arguments(parser)
    return parser.parse(list(arguments))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whom a broker that has two items was asked."""
    seen: list[Any] = []

    def ask(directory: Path, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        seen.append((directory, request))
        yield from ITEMS
        raise admin_client.AdminRefusal("the disk\x1b is full")

    monkeypatch.setattr(admin_client, "ask", ask)
    return seen


def shown_until_refused(*arguments: str) -> int:
    def act() -> int:
        items = shown(options(*arguments), {"request": "x"}, lambda item: f"{item}!")
        assert [next(items), next(items)] == ITEMS
        next(items)
        return 0

    return run("x", act)


def test_items_are_shown_as_they_come(asked: list[Any], capsys: Captured) -> None:
    assert shown_until_refused() == 1
    assert asked == [(Path("data"), {"request": "x"})]
    out, error = capsys.readouterr()
    assert out.splitlines() == ["{'a': 1}!", "{'a': 2}!"]
    assert error.startswith("odradek x: the disk")
    assert "\x1b" not in error


def test_as_json(asked: list[Any], capsys: Captured) -> None:
    assert shown_until_refused("--json", "--data-dir", "/d") == 1
    assert asked == [(Path("/d"), {"request": "x"})]
    *items, failure = capsys.readouterr().out.splitlines()
    assert items == ['{"a": 1}', '{"a": 2}']
    assert json.loads(failure)["error"]["code"] == "FAILED"


def test_what_it_comes_to_is_the_exit_code() -> None:
    assert run("x", lambda: 3) == 3
