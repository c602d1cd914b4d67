"""The options of logins by SASL: which mechanisms there are, for how long they hold,
with which tokens.

Kafka's, and some of ours. Most may be set for one listener, and for one mechanism of a
listener (see `security`).
"""

from dataclasses import dataclass
from typing import Any

from odradek.broker.config.options.option import Kind, option

PLAIN = "PLAIN"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
GSSAPI = "GSSAPI"
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = (PLAIN, *SCRAM, OAUTHBEARER)

_JAVA = "org.apache.kafka.common.security.oauthbearer"
# Who checks tokens in Apache Kafka, with the same options; here it is always us.
VALIDATORS = (
    f"{_JAVA}.OAuthBearerValidatorCallbackHandler",
    f"{_JAVA}.secured.OAuthBearerValidatorCallbackHandler",
    f"{_JAVA}.DefaultJwtValidator",
    f"{_JAVA}.BrokerJwtValidator",
)
_DAY_MS = 86_400_000
_OF_MECHANISM: dict[str, Any] = {"is_per_listener": True, "is_per_mechanism": True}


def _upper(text: str) -> tuple[str, ...]:
    return tuple(part.strip().upper() for part in text.split(",") if part.strip())


def _validator(text: str) -> str:
    if text not in ("", *VALIDATORS):
        raise ValueError("Classes of Java are not loaded; leave it out")
    return text


@dataclass(frozen=True, init=False, repr=False, eq=False)
class SaslOptions:
    """How clients of SASL_PLAINTEXT and SASL_SSL listeners log in."""

    sasl_enabled_mechanisms: tuple[str, ...] = option(
        (GSSAPI,),
        "sasl.enabled.mechanisms",
        f"How clients may log in: {', '.join(MECHANISMS)}. Kafka's default, GSSAPI, is"
        " not there: a listener with SASL needs others.",
        read=_upper,
        is_per_listener=True,
    )
    sasl_jaas_config: str | None = option(
        None,
        "sasl.jaas.config",
        "The login module of a mechanism, as Java has it; of PLAIN it names the users,"
        ' user_NAME="PASSWORD". Those of SCRAM are in the catalogue.',
        kind=Kind.PASSWORD,
        is_per_listener=True,
        is_per_mechanism=True,
    )
    plain_users_file: str | None = option(
        None,
        "plain.users.file",
        "File of users for PLAIN, NAME:PASSWORD a line, which nobody else may read."
        " Without it, nor users in sasl.jaas.config, those of SCRAM log in by PLAIN.",
        kind=Kind.STRING,
        is_per_listener=True,
    )
    sasl_server_callback_handler_class: str | None = option(
        None,
        "sasl.server.callback.handler.class",
        "Kafka's own class that checks the tokens of OAUTHBEARER, for which the broker"
        " stands.",
        kind=Kind.CLASS,
        read=_validator,
        is_per_listener=True,
        is_per_mechanism=True,
    )
    allow_cleartext_secrets: bool = option(
        False,
        "allow.cleartext.secrets",
        "Let clients from other machines send passwords and tokens that are not"
        " encrypted (PLAIN or OAUTHBEARER on SASL_PLAINTEXT).",
        is_per_listener=True,
    )
    connections_max_reauth_ms: int = option(
        0,
        "connections.max.reauth.ms",
        "How long a login holds: after it a client has to log in again on its"
        " connection, or is cut off. 0: as long as the connection.",
        kind=Kind.LONG,
        at_least=0,
        is_per_listener=True,
        is_per_mechanism=True,
    )
    connection_failed_authentication_delay_ms: int = option(
        100,
        "connection.failed.authentication.delay.ms",
        "How long the answer to a failed login waits; from one address twice as long"
        " each time, up to 5 s.",
        at_least=0,
        is_per_listener=True,
    )
    sasl_server_max_receive_size: int = option(
        64 << 10,
        "sasl.server.max.receive.size",
        "Largest request before the login.",
        at_least=256,
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class TokenOptions:
    """Who may log in with a token, and how long one of ours holds."""

    sasl_oauthbearer_jwks_endpoint_url: str | None = option(
        None,
        "sasl.oauthbearer.jwks.endpoint.url",
        "Where the keys are by which the tokens of OAUTHBEARER are checked: https://,"
        " file://, or http:// on this machine.",
        kind=Kind.STRING,
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = option(
        3_600_000,
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "How often these keys are fetched anew.",
        kind=Kind.LONG,
        at_least=1_000,
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = option(
        100,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "How soon they are fetched again after that has failed; twice as long each"
        " time.",
        kind=Kind.LONG,
        at_least=1,
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = option(
        10_000,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "And how late at most.",
        kind=Kind.LONG,
        at_least=1,
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = option(
        (),
        "sasl.oauthbearer.expected.audience",
        "For whom a token has to be (aud): one of these. Empty: for anybody.",
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_expected_issuer: str | None = option(
        None,
        "sasl.oauthbearer.expected.issuer",
        "Who has to have issued a token (iss). Unset: anybody with one of the keys.",
        kind=Kind.STRING,
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_clock_skew_seconds: int = option(
        30,
        "sasl.oauthbearer.clock.skew.seconds",
        "How much the clock of who issues tokens may differ from ours.",
        at_least=0,
        at_most=3_600,
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_scope_claim_name: str = option(
        "scope",
        "sasl.oauthbearer.scope.claim.name",
        "The claim of a token that has its scopes.",
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_sub_claim_name: str = option(
        "sub",
        "sasl.oauthbearer.sub.claim.name",
        "The claim of a token that names the user.",
        **_OF_MECHANISM,
    )
    sasl_oauthbearer_jwt_validator_class: str = option(
        f"{_JAVA}.DefaultJwtValidator",
        "sasl.oauthbearer.jwt.validator.class",
        "Kafka's own classes, for which the broker stands.",
        kind=Kind.CLASS,
        read=_validator,
        is_used=False,
        **_OF_MECHANISM,
    )
    org_apache_kafka_sasl_oauthbearer_allowed_urls: tuple[str, ...] = option(
        (),
        "org.apache.kafka.sasl.oauthbearer.allowed.urls",
        "URLs that sasl.oauthbearer.jwks.endpoint.url may be, a system property of"
        " Apache Kafka. Empty: any.",
    )
    org_apache_kafka_sasl_oauthbearer_allowed_files: tuple[str, ...] = option(
        (),
        "org.apache.kafka.sasl.oauthbearer.allowed.files",
        "The same for files.",
    )
    allow_unsecured_tokens: bool = option(
        False,
        "allow.unsecured.tokens",
        "Let clients log in by OAUTHBEARER with tokens that nobody has signed, on"
        " listeners that only this machine reaches: for tests.",
        is_per_listener=True,
    )
    delegation_token_secret_key: str | None = option(
        None,
        "delegation.token.secret.key",
        "The secret of which delegation tokens are made. Unset: there are none.",
        kind=Kind.PASSWORD,
    )
    delegation_token_max_lifetime_ms: int = option(
        7 * _DAY_MS,
        "delegation.token.max.lifetime.ms",
        "How long a delegation token can hold, however often it is renewed.",
        kind=Kind.LONG,
        at_least=1,
    )
    delegation_token_expiry_time_ms: int = option(
        _DAY_MS,
        "delegation.token.expiry.time.ms",
        "How long a delegation token holds until it has to be renewed.",
        kind=Kind.LONG,
        at_least=1,
    )
    delegation_token_expiry_check_interval_ms: int = option(
        3_600_000,
        "delegation.token.expiry.check.interval.ms",
        "How often delegation tokens that hold no more are removed.",
        kind=Kind.LONG,
        at_least=1,
    )
