from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.network import NetworkOptions

MIB = 1 << 20


def test_limits_are_on_by_default() -> None:
    """What a stranger may take is bounded before anybody sets an option."""
    assert NetworkOptions.socket_request_max_bytes == 100 * MIB
    assert NetworkOptions.request_decompressed_max_bytes == 64 * MIB
    assert NetworkOptions.request_decompressed_ratio_max == 0  # its size is enough
    assert NetworkOptions.max_connections == 10_000
    assert NetworkOptions.max_connections_per_ip == 1_000
    assert NetworkOptions.max_connection_creation_rate == 500
    assert NetworkOptions.queued_max_request_bytes == 256 * MIB
    assert NetworkOptions.queued_max_response_bytes == 256 * MIB
    assert NetworkOptions.connection_unread_max_bytes == 8 * MIB
    assert NetworkOptions.connection_unread_timeout_ms == 60_000
    assert NetworkOptions.request_arrival_timeout_ms == 30_000
    assert NetworkOptions.connection_min_byte_rate == 1024


def test_nobody_outside_can_connect_by_default() -> None:
    (listener,) = NetworkOptions.listeners
    assert listener.is_loopback
    assert not NetworkOptions.allow_unauthenticated


def test_they_are_in_the_table() -> None:
    assert OPTIONS["fetch.max.bytes"][0] == "fetch_max_bytes"
