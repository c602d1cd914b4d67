"""Requests of real clients, as they were recorded on the wire."""

import json
from collections.abc import Iterator
from pathlib import Path

from odradek.protocol.api_keys import ApiKey

CLIENTS = (
    "aiokafka",
    "franz-go",
    "java-clients",
    "kafka-python",
    "librdkafka",
    "spark",
)
_WIRE = Path(__file__).parents[1] / "golden" / "wire"


def recorded(api: ApiKey) -> Iterator[tuple[str, int, memoryview]]:
    """Client, version and frame without its length: what was kept whole of an API."""
    for client in CLIENTS:
        for line in (_WIRE / f"{client}.jsonl").read_text().splitlines():
            exchange = json.loads(line)
            if exchange["api_key"] == api and not exchange.get("cut"):
                frame = bytearray.fromhex(exchange["request_hex"])
                yield client, exchange["version"], memoryview(frame)
