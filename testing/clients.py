"""How the clients of a language are told where a broker is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .security import Security

PLAIN = "PLAIN"
_NAMES = {
    "aiokafka": "bootstrap_servers",
    "confluent": "bootstrap.servers",
    "java": "bootstrap.servers",
    "kafka-python": "bootstrap_servers",
    "spark": "kafka.bootstrap.servers",
}


def client_config(
    client: str,
    bootstrap: str,
    security: Security | None = None,
    user: str | None = None,
    mechanism: str = PLAIN,
) -> dict[str, Any]:
    """The least that a client has to be configured with.

    Raises:
        ValueError: nobody knows such a client, or such a user.
    """
    if client not in _NAMES:
        raise ValueError(f"there is no client {client!r}: it is {', '.join(_NAMES)}")
    address = {_NAMES[client]: bootstrap}
    if security is not None:
        return address | security.client_options(client, user, mechanism)
    if user is not None:
        raise ValueError(f"nobody logs in, and so not {user!r}")
    return address
