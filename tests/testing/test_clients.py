"""Every client is told the broker's address by the name that it knows."""

import pytest

from odradek.testing.clients import client_config


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("aiokafka", "bootstrap_servers"),
        ("confluent", "bootstrap.servers"),
        ("java", "bootstrap.servers"),
        ("kafka-python", "bootstrap_servers"),
        ("spark", "kafka.bootstrap.servers"),
    ],
)
def test_a_client_is_told_the_address(client: str, name: str) -> None:
    assert client_config(client, "127.0.0.1:9") == {name: "127.0.0.1:9"}


def test_a_client_that_nobody_knows_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"'sarama'.*aiokafka, confluent"):
        client_config("sarama", "127.0.0.1:9")
