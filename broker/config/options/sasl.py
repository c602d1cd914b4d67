"""The options of logins by SASL: which mechanisms there are, for how long they hold.

Kafka's, and some of ours. Most may be set for one listener, and for one mechanism of a
listener (see `security`).
"""

from dataclasses import dataclass

from .option import Kind, option

PLAIN = "PLAIN"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
GSSAPI = "GSSAPI"
MECHANISMS = (PLAIN, *SCRAM)


def _upper(text: str) -> tuple[str, ...]:
    return tuple(part.strip().upper() for part in text.split(",") if part.strip())


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
    allow_cleartext_secrets: bool = option(
        False,
        "allow.cleartext.secrets",
        "Let clients from other machines send passwords that are not encrypted (PLAIN"
        " on SASL_PLAINTEXT).",
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
