"""A file of options for clients, as Java's tools and librdkafka's read it.

    bootstrap.servers=kafka-1:9093
    security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512
    sasl.username=alice
    sasl.password=...
    ssl.ca.location=/etc/kafka/ca.pem

What is not about brokers, TLS or SASL is left out: such files are shared by programs.
Values may stand elsewhere (`references`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.address import parse_addresses
from odradek.protocol.properties import parse_properties

from .names import is_of_security
from .options import read_security
from .references import names_providers, resolved

if TYPE_CHECKING:
    from .settings import Security

SERVERS = ("bootstrap.servers", "metadata.broker.list")


class ClientFileError(ValueError):
    """The file cannot be read, or an option in it cannot be so; no secret is in it."""


class ClientFile(NamedTuple):
    """What a file says; no brokers where it names none."""

    security: Security
    bootstrap_servers: str = ""


def read_client_file(path: str) -> ClientFile:
    """What the file says.

    Raises:
        ClientFileError: why that is of no use.
    """
    options = read_client_options(path)
    try:
        options |= resolved(
            {name: text for name, text in options.items() if is_read(name)}
        )
        security = read_security(options, path)
        servers = next((options[name] for name in SERVERS if name in options), "")
        if servers:
            parse_addresses(servers)
    except ValueError as error:
        raise ClientFileError(f"{path}: {error}") from None
    return ClientFile(security, servers)


def is_read(name: str) -> bool:
    """Whether an option of the file is for us; others are looked at by no one."""
    return name in SERVERS or is_of_security(name) or names_providers(name)


def read_client_options(path: str) -> dict[str, str]:
    """The options in the file, as they are there.

    Raises:
        ClientFileError: it cannot be read.
    """
    try:
        text = Path(os.path.expanduser(path)).read_text()
    except OSError as error:
        raise ClientFileError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ClientFileError(f"{path}: it is no text") from None
    return {entry.name: entry.value for entry in parse_properties(text)}
