from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (
            {"listeners": (Listener("SSL", "", 1),)},
            r"SSL://:1 has no host, so it can be reached from other machines",
        ),
        (
            {"listeners": (Listener("SASL_PLAINTEXT", "127.0.0.1", 1),)},
            "GSSAPI .Kerberos., .* SCRAM-SHA-512",
        ),
        (
            {"listeners": (Listener("INSIDE", "127.0.0.1", 1),)},
            r"with listener\.security\.protocol\.map=INSIDE:PLAINTEXT",
        ),
        (
            {"listeners": (Listener("PLAINTEXT", "", 9092),)},
            r"PLAINTEXT://:9092 has no host, so it can be reached from other machines.*"
            r"--allow-unauthenticated.*listeners=PLAINTEXT://127\.0\.0\.1:9092",
        ),
        (
            {"listeners": (Listener("PLAINTEXT", "0.0.0.0", 9092),)},
            r"PLAINTEXT://0\.0\.0\.0:9092 can be reached from other machines",
        ),
        (
            {"advertised_listeners": (Listener("OUT", "h", 1),)},
            r"advertised\.listeners has OUT://h:1, but listeners has no OUT",
        ),
        (
            {"advertised_listeners": (Listener("PLAINTEXT", "", 1),)},
            "clients need a host and a port",
        ),
        (
            {"advertised_listeners": (Listener("PLAINTEXT", "0.0.0.0", 1),)},
            "no client can connect to that",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused(more: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint) as refused:
        BrokerConfig(**more).check()
    assert "\n" not in str(refused.value)


def test_named_listeners_need_a_protocol_and_get_one() -> None:
    BrokerConfig(
        listeners=(Listener("INSIDE", "127.0.0.1", 1),),
        listener_security_protocol_map=("INSIDE:PLAINTEXT",),
    ).check()


def test_who_shows_a_certificate_may_come_from_other_machines() -> None:
    asked = {"ssl_client_auth": "required", "ssl_ca_file": "ca.pem"}
    BrokerConfig(listeners=(Listener("SSL", "", 1),), **asked).check()
    asked["ssl_client_auth"] = "requested"
    with pytest.raises(OptionError, match="can be reached from other machines"):
        BrokerConfig(listeners=(Listener("SSL", "", 1),), **asked).check()


def test_what_would_protect_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match="no listener has TLS"):
        BrokerConfig(ssl_client_auth="required").check()


def test_whoever_allows_it_may_listen_everywhere() -> None:
    BrokerConfig(
        listeners=(Listener("PLAINTEXT", "", 9092),), allow_unauthenticated=True
    ).check()
