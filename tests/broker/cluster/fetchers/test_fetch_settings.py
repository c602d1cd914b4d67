from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.config.options.broker_config import BrokerConfig


def test_options_say_how_leaders_are_asked() -> None:
    assert fetch_settings(BrokerConfig()) == (500, 1, 1 << 20, 10 << 20, 1_000, 30_000)
    config = BrokerConfig(replica_fetch_max_bytes=7, replica_fetch_backoff_ms=9)
    found = fetch_settings(config)
    assert (found.size_max, found.backoff_ms) == (7, 9)
