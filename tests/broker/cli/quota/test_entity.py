import pytest

from odradek.broker.cli.quota.entity import (
    entity_arguments,
    entity_of,
    entity_text,
    number_text,
    show,
)
from odradek.client.quotas import Quotas
from odradek.terminal.parser import Parser


def test_names_and_defaults() -> None:
    parser = Parser("quota list", "Lists.")
    entity_arguments(parser)
    for given, entity in (
        ([], {}),
        (["--user", "a", "--client-id", "b"], {"user": "a", "client-id": "b"}),
        (["--user-default"], {"user": None}),
        (["--ip-default"], {"ip": None}),
    ):
        assert entity_of(parser, parser.parse(given)) == entity


def test_how_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert entity_text({"user": "a\nb", "client-id": None}) == (
        "user a\\nb, client-id <default>"
    )
    assert (number_text(1e6), number_text(0.5)) == ("1000000", "0.5")
    show([], is_json=False)
    assert capsys.readouterr().out == ""
    show([Quotas({"user": "a"}, {"y": 0.5, "x": 2.0})], is_json=True)
    assert capsys.readouterr().out == (
        '{"entity": {"user": "a"}, "quotas": {"x": 2, "y": 0.5}}\n'
    )
