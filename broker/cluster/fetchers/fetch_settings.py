"""How leaders are asked for records; the numbers are Apache Kafka's defaults."""

from typing import NamedTuple


class FetchSettings(NamedTuple):
    """What options say of it. Sizes are in bytes."""

    wait_ms_max: int = 500  # replica.fetch.wait.max.ms
    size_min: int = 1  # replica.fetch.min.bytes
    size_max: int = 1 << 20  # replica.fetch.max.bytes, of a partition
    response_size_max: int = 10 << 20  # replica.fetch.response.max.bytes
    backoff_ms: int = 1_000  # replica.fetch.backoff.ms
    timeout_ms: int = 30_000  # replica.socket.timeout.ms
    fetcher_count: int = 1  # num.replica.fetchers, for each leader
