import pytest

from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.error import OptionError

JAVA = "org.apache.kafka.common.security.oauthbearer"


def test_mechanisms_are_in_capitals() -> None:
    known = OPTIONS["sasl.enabled.mechanisms"][1]
    assert known.parse("plain, scram-sha-256") == ("PLAIN", "SCRAM-SHA-256")
    assert known.default == ("GSSAPI",)


def test_nobody_is_shown_a_login_module() -> None:
    assert OPTIONS["sasl.jaas.config"][1].is_sensitive


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("sasl.oauthbearer.jwt.validator.class", f"{JAVA}.BrokerJwtValidator"),
        (
            "sasl.server.callback.handler.class",
            f"{JAVA}.OAuthBearerValidatorCallbackHandler",
        ),
        (
            "sasl.server.callback.handler.class",
            f"{JAVA}.secured.OAuthBearerValidatorCallbackHandler",
        ),
    ],
)
def test_the_classes_that_we_stand_for_are_taken_and_no_others(
    name: str, known: str
) -> None:
    _, option = OPTIONS[name]
    assert option.parse(known) == known
    assert option.is_per_mechanism
    with pytest.raises(OptionError, match="Classes of Java are not loaded"):
        option.parse("com.example.Mine")


def test_the_secret_is_shown_to_nobody() -> None:
    _, option = OPTIONS["delegation.token.secret.key"]
    assert option.is_sensitive
    assert not option.is_dynamic


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sasl.oauthbearer.clock.skew.seconds", "-1"),
        ("sasl.oauthbearer.clock.skew.seconds", "3601"),
        ("sasl.oauthbearer.jwks.endpoint.refresh.ms", "10"),
        ("delegation.token.max.lifetime.ms", "0"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, text: str) -> None:
    with pytest.raises(OptionError):
        OPTIONS[name][1].parse(text)
