"""How the clients of a language are told where a broker is."""

from __future__ import annotations

from typing import Any

_NAMES = {
    "aiokafka": "bootstrap_servers",
    "confluent": "bootstrap.servers",
    "java": "bootstrap.servers",
    "kafka-python": "bootstrap_servers",
    "spark": "kafka.bootstrap.servers",
}


def client_config(client: str, bootstrap: str) -> dict[str, Any]:
    """The least that a client has to be configured with.

    Raises:
        ValueError: nobody knows such a client.
    """
    if client not in _NAMES:
        raise ValueError(f"there is no client {client!r}: it is {', '.join(_NAMES)}")
    return {_NAMES[client]: bootstrap}
