import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.outgoing import Outgoing
from odradek.client.errors import TlsFailed
from odradek.client.security.settings import UNPROTECTED
from tests.broker.security.certificates.options import tls_options
from tests.certificates import server

MECHANISM = "sasl.mechanism.controller.protocol"
JAAS = "listener.name.controller.{}.sasl.jaas.config"
MODULES = "org.apache.kafka.common.security"
SCRAM = f'{MODULES}.scram.ScramLoginModule required username="us" password="our";'
PLAIN = (
    f'{MODULES}.plain.PlainLoginModule required username="us" password="our"'
    ' user_us="our" user_them="their";'
)
TOKENS = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"


def outgoing(
    protocol: str, mechanism: str = "GSSAPI", jaas: str = "", **more: Any
) -> Outgoing:
    listener = Listener("CONTROLLER", "", 0, protocol)
    config = BrokerConfig(
        sasl_mechanism_controller_protocol=mechanism,
        of_listeners={JAAS.format(mechanism.lower()): jaas},
        **more,
    )
    return Outgoing(SecurityOptions(config, listener), MECHANISM)


def test_in_plaintext_there_is_nothing_to_know() -> None:
    assert outgoing("PLAINTEXT").security() == UNPROTECTED


@pytest.mark.parametrize(
    ("mechanism", "jaas"), [("PLAIN", PLAIN), ("SCRAM-SHA-512", SCRAM)]
)
def test_it_logs_in_as_whom_the_module_names(mechanism: str, jaas: str) -> None:
    security = outgoing("SASL_PLAINTEXT", mechanism, jaas).security()
    assert (security.protocol, security.tls) == ("SASL_PLAINTEXT", None)
    assert security.sasl is not None
    assert (security.sasl.mechanism, security.sasl.user) == (mechanism, "us")
    assert security.sasl.password.value == "our"


def test_a_token_is_fetched_where_the_broker_is_told(tmp_path: Path) -> None:
    token = {"sasl.oauthbearer.token.endpoint.url": (tmp_path / "token").as_uri()}
    made = outgoing("SASL_PLAINTEXT", "OAUTHBEARER", TOKENS, foreign=token)
    sasl = made.security().sasl
    assert sasl is not None
    assert sasl.oauth.token_file == str(tmp_path / "token")


@pytest.mark.parametrize(
    ("mechanism", "jaas", "words"),
    [
        ("SCRAM-SHA-512", "", "scram-sha-512.sasl.jaas.config sets no user"),
        ("PLAIN", PLAIN.replace("username", "user_name"), r"sasl\.username"),
        ("PLAIN", SCRAM, "ScramLoginModule"),
        ("GSSAPI", "", "set it to one of PLAIN, SCRAM-SHA-256"),
    ],
)
def test_who_cannot_log_in_does_not_start(
    mechanism: str, jaas: str, words: str
) -> None:
    with pytest.raises(StartError, match=words) as refused:
        outgoing("SASL_SSL", mechanism, jaas)
    assert "our" not in str(refused.value).replace("your", "")


def test_it_shows_what_its_own_listener_shows(tmp_path: Path) -> None:
    files = [Path(shutil.copy(each, tmp_path)) for each in server()]
    options = tls_options(ssl_certificate_file=files[0], ssl_key_file=files[1])
    made = Outgoing(options, MECHANISM)
    tls = made.security().tls
    assert tls is not None
    assert tls.checks_host_name
    assert tls.certificate.text.value.strip() == files[0].read_text().strip()
    assert tls.trusted
    assert made.security().tls is tls
    # Renewed, and then by what is none.
    files[0].write_text(f"a comment\n{files[0].read_text()}")
    assert made.security().tls is not tls
    files[1].write_text("no key at all")
    os.utime(files[1], (1, 1))
    with pytest.raises(TlsFailed, match="there is no key"):
        made.security()


def test_a_host_name_may_be_of_no_interest() -> None:
    options = tls_options()
    config = replace(options.config, ssl_endpoint_identification_algorithm="")
    tls = Outgoing(options._replace(config=config), MECHANISM).security().tls
    assert tls is not None
    assert not tls.checks_host_name
