"""What is pasted can be read; that it connects: tests/apache_kafka/test_pasted.py."""

import ast
import shlex
from pathlib import Path

import pytest

from odradek.broker.cli.snippets.client import Client
from odradek.broker.cli.snippets.snippets import CLIENTS, as_text, snippets

FOLDER = Path("/tmp/it's here")
USER = Client(
    "kafka.example.com:9092",
    FOLDER / "ca.pem",
    user="o'brien",
    password_file=FOLDER / "admin.password",
    java_file=FOLDER / "client.properties",
    librdkafka_file=FOLDER / "librdkafka.properties",
)
CERTIFICATE = Client("a:1", FOLDER / "ca.pem", certificate=FOLDER / "alice.pem")


def test_there_is_one_for_each_client() -> None:
    assert tuple(each.client for each in snippets(USER)) == CLIENTS
    text = as_text(snippets(USER))
    assert all(f"# {name}: " in text for name in CLIENTS)


@pytest.mark.parametrize("client", [USER, CERTIFICATE], ids=["user", "certificate"])
def test_all_of_it_can_be_pasted(client: Client) -> None:
    for each in snippets(client):
        if each.place == "Python":
            ast.parse(each.text)
        elif client is USER:
            assert shlex.split(each.text, comments=True)


def test_whoever_logs_in_does_it_by_name() -> None:
    for each in snippets(USER):
        if each.place == "Python":
            assert "admin.password" in each.text
            assert "SCRAM-SHA-512" in each.text
    for each in snippets(CERTIFICATE):
        assert "sasl" not in each.text.lower()
        assert "alice.pem" in each.text
