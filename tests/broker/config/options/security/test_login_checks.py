from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.login_checks import login_warnings
from odradek.broker.config.options.security.per_listener import SecurityOptions


def config(host: str, *mechanisms: str, **more: Any) -> BrokerConfig:
    listeners = (Listener("SASL_PLAINTEXT", host, 1),)
    return BrokerConfig(listeners=listeners, sasl_enabled_mechanisms=mechanisms, **more)


@pytest.mark.parametrize(
    ("host", "mechanisms", "complaint"),
    [
        (
            "127.0.0.1",
            ("GSSAPI",),
            r"Kerberos.*sasl\.enabled\.mechanisms=SCRAM-SHA-512",
        ),
        ("127.0.0.1", ("DIGEST-MD5",), "which is not there: set"),
        ("127.0.0.1", (), "is empty"),
        ("192.0.2.1", ("PLAIN",), r"for everybody to read.*allow\.cleartext\.secrets"),
    ],
)
def test_logins_that_cannot_be_or_should_not_are_refused(
    host: str, mechanisms: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(OptionError, match=complaint) as refused:
        config(host, *mechanisms).check()
    assert "\n" not in str(refused.value)


def test_who_checks_tokens_is_named_for_tokens() -> None:
    handler = "org.apache.kafka.common.security.oauthbearer"
    handler += ".OAuthBearerValidatorCallbackHandler"
    name = "sasl.server.callback.handler.class"
    config("127.0.0.1", "PLAIN", sasl_server_callback_handler_class=handler).check()
    of_listeners = {f"listener.name.sasl_plaintext.plain.{name}": handler}
    with pytest.raises(OptionError, match="is for OAUTHBEARER: leave it out"):
        config("127.0.0.1", "PLAIN", of_listeners=of_listeners).check()


def test_passwords_may_be_sent_where_nobody_or_somebody_knowingly_listens() -> None:
    config("127.0.0.1", "PLAIN").check()
    config("192.0.2.1", "PLAIN", allow_cleartext_secrets=True).check()


def test_scram_in_the_open_is_a_warning() -> None:
    for host, count in (("127.0.0.1", 0), ("192.0.2.1", 1)):
        options = config(host, "SCRAM-SHA-512")
        options.check()
        security = SecurityOptions.of(options, "SASL_PLAINTEXT")
        assert len(list(login_warnings(security))) == count
