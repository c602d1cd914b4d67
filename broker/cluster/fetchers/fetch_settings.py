"""How leaders are asked for records, as options say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig


class FetchSettings(NamedTuple):
    """Sizes are in bytes: ``size_max`` of a partition, others of an answer."""

    wait_ms_max: int
    size_min: int
    size_max: int
    response_size_max: int
    backoff_ms: int
    timeout_ms: int


def fetch_settings(config: BrokerConfig) -> FetchSettings:
    """What the broker's options say."""
    return FetchSettings(
        config.replica_fetch_wait_max_ms,
        config.replica_fetch_min_bytes,
        config.replica_fetch_max_bytes,
        config.replica_fetch_response_max_bytes,
        config.replica_fetch_backoff_ms,
        config.replica_socket_timeout_ms,
    )
