"""S028: every way in which a login fails, with the line that would mend it."""

from odradek.client.address import Address
from odradek.client.doctor.login import login_failure, mechanisms
from odradek.client.security.options import read_security
from odradek.protocol.errors import KafkaError, SaslAuthenticationFailed
from tests.authority import Authority
from tests.patience import PATIENCE_S

from .conftest import failure, login

Listeners = dict[str, Address]
SASL = {"security_protocol": "SASL_PLAINTEXT"}


def test_a_client_without_a_login(listeners: Listeners, ca: Authority) -> None:
    found = failure(listeners["SASL_PLAINTEXT"])
    assert "(SASL expected) (it offers SCRAM-SHA-512)" in found.detail
    assert "security.protocol=SASL_PLAINTEXT, sasl.mechanism=SCRAM-SHA-512" in (
        found.advice
    )
    trusting = {"security_protocol": "SSL", "ssl_ca_location": str(ca.certificate)}
    found = failure(listeners["SASL_SSL"], **trusting)
    assert "security.protocol=SASL_SSL, sasl.mechanism=SCRAM-SHA-512" in found.advice


def test_a_listener_without_logins(listeners: Listeners, ca: Authority) -> None:
    found = failure(listeners["PLAINTEXT"], **SASL, **login())
    assert "has no SASL" in found.detail
    assert "security.protocol=PLAINTEXT in the client" in found.advice
    trusting = {"security_protocol": "SASL_SSL", "ssl_ca_location": str(ca.certificate)}
    found = failure(listeners["SSL"], **trusting, **login())
    assert "security.protocol=SSL in the client" in found.advice


def test_neither_tls_nor_a_login(listeners: Listeners) -> None:
    found = failure(listeners["SASL_SSL"])
    assert found.detail == "it expects TLS"
    found = failure(listeners["SASL_SSL"], **SASL, **login())
    assert "Set security.protocol=SASL_SSL in the client" in found.advice


def test_a_mechanism_that_is_not_offered(listeners: Listeners) -> None:
    wrong = login() | {"sasl_mechanism": "SCRAM-SHA-256"}
    found = failure(listeners["SASL_PLAINTEXT"], **SASL, **wrong)
    assert "does not offer SCRAM-SHA-256; it offers SCRAM-SHA-512" in found.detail
    assert "Set sasl.mechanism to one of these" in found.advice


def test_a_wrong_password_and_a_user_who_is_not_there(listeners: Listeners) -> None:
    for wrong in login(password="wrong"), login("nobody"):
        found = failure(listeners["SASL_PLAINTEXT"], **SASL, **wrong)
        assert found.check == "login"
        user = wrong["sasl_username"]
        assert f"'odradek user set {user} --data-dir DIR' gives" in found.advice
        assert "sasl.username and sasl.password" in found.advice
        assert wrong["sasl_password"] not in found.detail + found.advice


def test_a_token_that_is_refused() -> None:
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.file": "/run/token",
    }
    error = SaslAuthenticationFailed("The broker refuses the token")
    found = login_failure(Address("a", 1), error, read_security(options))
    assert "has it not expired" in found.advice


def test_what_else_a_broker_says() -> None:
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    options |= {"sasl.username": "a", "sasl.password": "b"}
    found = login_failure(Address("a", 1), KafkaError("odd"), read_security(options))
    assert found.advice == "The broker's log says more."


def test_who_does_not_say_has_no_mechanisms(listeners: Listeners) -> None:
    assert mechanisms(listeners["SASL_PLAINTEXT"], PATIENCE_S, None) == [
        "SCRAM-SHA-512"
    ]
    assert mechanisms(listeners["SSL"], PATIENCE_S, None) == []
