import pytest

from odradek.broker.config.secrets import HIDDEN, is_secret, shown


@pytest.mark.parametrize(
    "name",
    [
        "ssl.key.password",
        "listener.name.inside.ssl.keystore.key",
        "listener.name.inside.scram-sha-256.sasl.jaas.config",
        "delegation.token.secret.key",
        "my.own.password",
    ],
)
def test_secrets_are_hidden(name: str) -> None:
    assert is_secret(name)
    assert shown(name, "hush") == HIDDEN
    assert shown(name, None) is None


@pytest.mark.parametrize(
    "name",
    ["ssl.keystore.location", "log.dir", "listener.name.inside.ssl.client.auth", "x"],
)
def test_others_are_not(name: str) -> None:
    assert not is_secret(name)
    assert shown(name, "value") == "value"


def test_a_misspelt_secret_is_one() -> None:
    assert is_secret("ssl.keystore.pasword")
    assert not is_secret("num.partition")
