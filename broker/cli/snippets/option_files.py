"""Files of options for clients: with the password in them, so for their owner alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .client import MECHANISM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .client import Client

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def java_options(client: Client, password: str) -> list[tuple[str, str]]:
    """Those of Java's clients, of Kafka's tools and of our own commands."""
    options = [("bootstrap.servers", client.bootstrap)] if client.bootstrap else []
    options.append(("security.protocol", client.protocol))
    options.append(("ssl.truststore.type", "PEM"))
    options.append(("ssl.truststore.location", str(client.ca)))
    if client.certificate is not None:
        options.append(("ssl.keystore.type", "PEM"))
        options.append(("ssl.keystore.location", str(client.certificate)))
    if client.user:
        options.append(("sasl.mechanism", MECHANISM))
        options.append(("sasl.jaas.config", jaas(client.user, password)))
    return options


def librdkafka_options(client: Client, password: str) -> list[tuple[str, str]]:
    """Those of librdkafka: of confluent-kafka, of kcat."""
    options = [("bootstrap.servers", client.bootstrap)] if client.bootstrap else []
    options.append(("security.protocol", client.protocol))
    options.append(("ssl.ca.location", str(client.ca)))
    if client.certificate is not None:
        options.append(("ssl.certificate.location", str(client.certificate)))
        options.append(("ssl.key.location", str(client.certificate)))
    if client.user:
        options.append(("sasl.mechanism", MECHANISM))
        options.append(("sasl.username", client.user))
        options.append(("sasl.password", password))
    return options


def jaas(user: str, password: str) -> str:
    """The value of ``sasl.jaas.config``."""
    return f"{_MODULE} required username={_quoted(user)} password={_quoted(password)};"


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def as_properties(options: Iterable[tuple[str, str]]) -> str:
    """A file as Java reads it: a backslash is written twice."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in options)


def _escaped(value: str) -> str:
    """The value as Java gets it back; blanks at its beginning would be lost."""
    value = value.replace("\\", "\\\\")
    return "\\" + value if value[:1] in (" ", "\t") else value


def as_plain_lines(options: Iterable[tuple[str, str]]) -> str:
    """A file as kcat reads it: what is written is what is meant."""
    return "".join(f"{name}={value}\n" for name, value in options)
