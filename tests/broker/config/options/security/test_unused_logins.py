from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.unused_logins import unused_warnings
from odradek.broker.config.sources import load

PLAINTEXT = Listener("PLAINTEXT", "127.0.0.1", 1)
LOGINS = Listener("SASL_PLAINTEXT", "127.0.0.1", 2)
OWN_USERS = "listener.name.sasl_plaintext.plain.users.file"
KEYS = "sasl.oauthbearer.jwks.endpoint.url"
OWN_KEYS = f"listener.name.sasl_plaintext.oauthbearer.{KEYS}"
HTTPS = "https://issuer.test/keys"


def config(*listeners: Listener, mechanisms: str = "", **more: Any) -> BrokerConfig:
    names = tuple(mechanisms.split())
    return BrokerConfig(listeners=listeners, sasl_enabled_mechanisms=names, **more)


@pytest.mark.parametrize(
    ("listeners", "more", "complaint"),
    [
        (
            (PLAINTEXT,),
            {"plain_users_file": "/users"},
            r"^plain\.users\.file is set, and no listener lets clients log in by PLAIN:"
            r" open one like listeners=SASL_SSL://127\.0\.0\.1:9093 with"
            r" sasl\.enabled\.mechanisms=PLAIN, or leave it out$",
        ),
        (
            (PLAINTEXT, LOGINS),
            {"plain_users_file": "/users"},
            r"log in by PLAIN: add PLAIN to sasl\.enabled\.mechanisms, or leave it out",
        ),
        (
            (LOGINS,),
            {"of_listeners": {OWN_USERS: "/users"}},
            r"listener SASL_PLAINTEXT://127\.0\.0\.1:2 does not let clients log in by"
            r" PLAIN: add PLAIN to sasl\.enabled\.mechanisms, or leave it out$",
        ),
        (
            (PLAINTEXT, LOGINS),
            {"of_listeners": {"listener.name.plaintext.plain.users.file": "/users"}},
            r"listener PLAINTEXT://127\.0\.0\.1:1 does not .* PLAIN: leave it out$",
        ),
    ],
)
def test_users_who_cannot_log_in_are_refused(
    listeners: tuple[Listener, ...], more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(OptionError, match=complaint):
        config(*listeners, mechanisms="SCRAM-SHA-512", **more).check()


def test_users_who_can_are_not() -> None:
    file = {"plain_users_file": "/users"}
    config(PLAINTEXT, LOGINS, mechanisms="SCRAM-SHA-512 PLAIN", **file).check()
    own = {"of_listeners": {OWN_USERS: "/users"}}
    config(LOGINS, mechanisms="PLAIN", **own).check()
    of_one = {"listener.name.sasl_plaintext.sasl.enabled.mechanisms": ("PLAIN",)}
    config(LOGINS, mechanisms="SCRAM-SHA-512", of_listeners=of_one, **file).check()
    unset = {"listener.name.plaintext.plain.users.file": None}
    config(PLAINTEXT, of_listeners=unset).check()


def test_the_longest_name_of_a_listener_is_meant() -> None:
    protocols = ("A:PLAINTEXT", "A.B:SASL_PLAINTEXT")
    config(
        Listener("A", "127.0.0.1", 1),
        Listener("A.B", "127.0.0.1", 2),
        mechanisms="PLAIN",
        listener_security_protocol_map=protocols,
        of_listeners={"listener.name.a.b.plain.users.file": "/users"},
    ).check()


def test_keys_for_tokens_that_nobody_brings_are_a_warning() -> None:
    """Apache Kafka starts with them."""
    for more in (
        {"sasl_oauthbearer_jwks_endpoint_url": HTTPS},
        {"of_listeners": {OWN_KEYS: HTTPS}},
    ):
        unused = config(LOGINS, mechanisms="PLAIN", **more)
        unused.check()
        (warning,) = unused_warnings(unused)
        assert "by OAUTHBEARER: add OAUTHBEARER to sasl.enabled.mechanisms" in warning
        used = config(LOGINS, mechanisms="PLAIN OAUTHBEARER", **more)
        assert not list(unused_warnings(used))


def test_a_start_says_so() -> None:
    notes = load(None, {}, [f"{KEYS}={HTTPS}"]).notes
    assert any(note.startswith(f"{KEYS} is set, and no listener") for note in notes)
    with pytest.raises(OptionError, match=r"plain\.users\.file is set, and no"):
        load(None, {}, ["plain.users.file=/users"])
