from pathlib import Path

from odradek.broker.cli.snippets.client import Client


def test_who_has_a_user_logs_in() -> None:
    client = Client("a:1", Path("ca.pem"))
    assert client.protocol == "SSL"
    assert client._replace(user="alice").protocol == "SASL_SSL"
