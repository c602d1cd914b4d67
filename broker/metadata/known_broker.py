"""A broker as clients are told of it."""

from __future__ import annotations

from typing import NamedTuple


class KnownBroker(NamedTuple):
    """A broker that clients may ask, and where on their listener."""

    broker_id: int
    host: str
    port: int
    rack: str | None
