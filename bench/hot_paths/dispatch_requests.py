"""Whole requests without sockets: from received bytes to the bytes of the answer.

What is not in it: the event loop, and the system calls of the sockets.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from logs import temporary_root
from measuring import Case, main
from partitions import Loop
from samples import FETCH_VERSION, KIB, TOPIC, large_batch, produce_frame, small_batch
from serving import Serving

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic


class Sender:
    """Hands the bytes of a request to a connection, as the loop does for a socket."""

    def __init__(self, serving: Serving, request: bytes | bytearray) -> None:
        self._connection, self._transport = serving.connect()
        self._request = request

    async def run(self, count: int) -> None:
        for _ in range(count):
            self._send()

    def _send(self) -> None:
        connection, rest = self._connection, self._request
        while rest:
            view = connection.get_buffer(-1)
            count = min(len(view), len(rest))
            view[:count] = rest[:count]
            connection.buffer_updated(count)
            rest = rest[count:]


class SyncedSenders:
    """Connections that all send, then wait until the disk has it: one group commit."""

    def __init__(self, serving: Serving, request: bytes, count: int) -> None:
        self._senders = [Sender(serving, request) for _ in range(count)]
        self._serving = serving

    async def run(self, count: int) -> None:
        """``count`` requests in all."""
        for first in range(0, count, len(self._senders)):
            for sender in self._senders[: count - first]:
                await sender.run(1)
            await self._serving.committer.flush()


def produce_bytes(
    records: bytearray, acks: int, transactional_id: str | None = None, **header: str
) -> bytes:
    frame = produce_frame(
        records, acks=acks, transactional_id=transactional_id, **header
    )
    return len(frame).to_bytes(4, "big") + frame


def fetch_bytes(client_id: str = "bench-client") -> bytes:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=KIB)
    topic = FetchTopic(topic=TOPIC, partitions=[wanted])
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=KIB, topics=[topic])
    return encode_request(request, FETCH_VERSION, 7, client_id)


async def start(root: Path, durability: str = "none", **options: Any) -> Serving:
    serving = Serving(root, durability, **options)
    await serving.topics.create_topic(TOPIC, 1)
    return serving


def cases() -> Iterator[Case]:
    loop = Loop()
    with temporary_root() as root:
        serving = loop.run(start(root / "data"))
        small, large = small_batch(), large_batch()
        for label, records, acks in (
            ("100 B, acks=all", small, -1),
            ("100 B, acks=1", small, 1),
            ("16 KiB, acks=all", large, -1),
        ):
            sender = Sender(serving, produce_bytes(records, acks))
            yield Case(f"whole Produce, {label}", loop.case(sender.run), len(records))
        sender = Sender(serving, fetch_bytes())
        yield Case("whole Fetch, 1 KiB", loop.case(sender.run), KIB)
        loop.run(serving.limit("limited"))
        for label, client_id in (
            ("another has a quota", "bench-client"),
            ("with a quota", "limited"),
        ):
            produce = produce_bytes(small, 1, client_id=client_id)
            sender = Sender(serving, produce)
            name = f"whole Produce, 100 B, acks=1, {label}"
            yield Case(name, loop.case(sender.run), len(small))
            sender = Sender(serving, fetch_bytes(client_id))
            yield Case(f"whole Fetch, 1 KiB, {label}", loop.case(sender.run), KIB)
        loop.run(serving.close())
        serving = loop.run(start(root / "synced", "commit"))
        senders = SyncedSenders(serving, produce_bytes(small, -1), 64)
        yield Case("whole Produce, 100 B, one of 64 synced", loop.case(senders.run))
        loop.run(serving.close())
    loop.close()


if __name__ == "__main__":
    main(cases)
