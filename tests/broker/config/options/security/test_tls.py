import pytest

from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.error import OptionError


def test_keys_and_passwords_are_shown_to_nobody() -> None:
    secrets = [
        name
        for name, (_, known) in OPTIONS.items()
        if name.startswith("ssl.") and known.is_sensitive
    ]
    assert sorted(secrets) == [
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.certificates",
        "ssl.truststore.password",
    ]


def test_a_listener_may_have_its_own_of_each() -> None:
    assert all(
        known.is_per_listener and not known.is_per_mechanism
        for name, (_, known) in OPTIONS.items()
        if name.startswith("ssl.")
    )


def test_client_auth_is_one_of_three() -> None:
    with pytest.raises(OptionError, match="required, requested, none"):
        OPTIONS["ssl.client.auth"][1].parse("maybe")
