from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.config.options.security.tls_checks import check_tls

PEM = {"ssl_keystore_type": "PEM", "ssl_truststore_type": "PEM"}


def check(protocol: str = "SSL", **options: Any) -> None:
    config = BrokerConfig(listeners=(Listener(protocol, "127.0.0.1", 1),), **options)
    check_tls(SecurityOptions.of(config, protocol))


@pytest.mark.parametrize(
    "options",
    [
        {"ssl_certificate_file": "c", "ssl_key_file": "k", "ssl_ca_file": "a"},
        {"ssl_keystore_location": "k", "ssl_keystore_password": "p"},
        {**PEM, "ssl_keystore_location": "k", "ssl_key_password": "p"},
        {**PEM, "ssl_keystore_key": "k", "ssl_keystore_certificate_chain": "c"},
        {"ssl_client_auth": "required", "ssl_ca_file": "a"},
        {"ssl_client_auth": "requested", "ssl_truststore_location": "t"},
        {"ssl_enabled_protocols": ("TLSv1.3",), "ssl_protocol": "TLS"},
    ],
)
def test_what_fits_together_is_taken(options: dict[str, Any]) -> None:
    check(**options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"ssl_keystore_type": "BKS"}, r"ssl\.keystore\.type=BKS is not known"),
        (
            {"ssl_certificate_file": "c", "ssl_keystore_location": "k"},
            r"both set: use one of them",
        ),
        ({"ssl_key_file": "k"}, r"needs ssl\.certificate\.file too"),
        (
            {"ssl_keystore_key": "k", "ssl_keystore_certificate_chain": "c"},
            r"needs ssl\.keystore\.type=PEM too",
        ),
        ({**PEM, "ssl_keystore_key": "k"}, r"needs ssl\.keystore\.certificate\.chain"),
        ({**PEM, "ssl_keystore_certificate_chain": "k"}, r"needs ssl\.keystore\.key"),
        (
            {**PEM, "ssl_keystore_key": "k", "ssl_keystore_location": "l"},
            r"ssl\.keystore\.location and ssl\.keystore\.key are both set",
        ),
        (
            {**PEM, "ssl_keystore_location": "l", "ssl_keystore_password": "p"},
            r"use ssl\.key\.password",
        ),
        ({"ssl_keystore_password": "p"}, r"needs ssl\.keystore\.location"),
        ({"ssl_keystore_location": "p"}, r"needs ssl\.keystore\.password"),
        (
            {"ssl_ca_file": "c", "ssl_truststore_location": "k"},
            r"ssl\.ca\.file and ssl\.truststore\.\* are both set",
        ),
        ({"ssl_truststore_certificates": "c"}, r"needs ssl\.truststore\.type=PEM"),
        (
            {**PEM, "ssl_truststore_location": "l", "ssl_truststore_password": "p"},
            "use no password",
        ),
        ({"ssl_truststore_password": "p"}, r"needs ssl\.truststore\.location"),
        ({"ssl_client_auth": "required"}, "no CA is named"),
        ({"ssl_enabled_protocols": ("TLSv1.1", "TLSv1.2")}, r"has TLSv1\.1"),
        ({"ssl_enabled_protocols": ()}, "has nothing"),
        ({"ssl_protocol": "SSLv3"}, r"ssl\.protocol=SSLv3 is not spoken"),
    ],
)
def test_contradictions_are_errors(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        check(**options)


def test_clients_who_log_in_show_a_certificate_only_by_the_listeners_own() -> None:
    check("SASL_SSL", ssl_client_auth="required")
    own = {"listener.name.sasl_ssl.ssl.client.auth": "required"}
    with pytest.raises(OptionError, match=r"listener\.name\.sasl_ssl\.ssl\.client"):
        check("SASL_SSL", of_listeners=own)
