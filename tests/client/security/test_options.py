from pathlib import Path

import pytest

from odradek.client.security.names import SecurityOptionError
from odradek.client.security.options import read_security
from odradek.client.security.settings import Sasl, Secret
from tests.authority import Authority

JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_java_and_librdkafka_say_the_same(ca: Authority) -> None:
    java = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca.certificate),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{JAAS} required username="alice" password="p w";',
        "acks": "all",
    }
    librdkafka = {
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": str(ca.certificate),
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": "p w",
    }
    found = read_security(java, "f")
    assert found == read_security(librdkafka, "f")
    assert found.protocol == "SASL_SSL"
    assert found.sasl == Sasl("SCRAM-SHA-256", "alice", Secret("p w"))
    assert found.tls is not None
    assert found.tls.trusted.path == str(ca.certificate)
    assert found.tls.checks_host_name


def test_without_options_nothing_is_protected() -> None:
    assert read_security({"acks": "all"}).protocol == "PLAINTEXT"
    harmless = {"ssl.endpoint.identification.algorithm": "", "sasl.mechanism": "PLAIN"}
    assert read_security(harmless).protocol == "PLAINTEXT"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"security.protocol": "SASLSSL"}, "did you mean SASL_SSL?"),
        ({"sasl.password": "marker"}, "is of no use with security.protocol=PLAINTEXT"),
        ({"ssl.ca.location": "/x"}, "set security.protocol=SSL or SASL_SSL"),
        (
            {"security.protocol": "SSL", "sasl.username": "alice"},
            "set security.protocol=SASL_SSL or SASL_PLAINTEXT",
        ),
    ],
)
def test_what_would_not_protect_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(SecurityOptionError) as caught:
        read_security(options)
    assert said in str(caught.value)
    assert "marker" not in str(caught.value)


def test_a_key_that_is_not_that_of_the_certificate(
    ca: Authority, identity: Path
) -> None:
    other = ca.issue("other")
    options = {
        "security.protocol": "SSL",
        "ssl.certificate.location": str(identity),
        "ssl.key.location": str(other.with_suffix(".key")),
    }
    # Found out when the options are read, not at the first connection.
    with pytest.raises(SecurityOptionError, match="not the one of the certificate"):
        read_security(options)
