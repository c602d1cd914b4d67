import pytest

from odradek.broker.network.tls.transport import RECORD_SIZE, records
from tests.broker.network.tls.words import connected, tls_broker


async def test_megabytes_arrive_and_leave_whole() -> None:
    async with tls_broker() as broker, connected(broker) as client:
        big = "now:" + "x" * (5 << 20)
        client.send(big, "now:2", big)
        assert [await client.answer() for _ in range(3)] == [big, "now:2", big]


async def test_many_small_requests_are_answered_in_order() -> None:
    async with tls_broker() as broker, connected(broker) as client:
        texts = [f"now:{number}" for number in range(1000)]
        client.send(*texts)
        assert [await client.answer() for _ in texts] == texts


async def test_who_says_bye_gets_its_answer_first() -> None:
    async with tls_broker() as broker, connected(broker) as client:
        client.send("bye:1")
        assert await client.answer() == "bye:1"
        assert await client.reader.read() == b""


@pytest.mark.parametrize(
    "sizes",
    [[], [5], [10, 20_000, 7], [16_384], [1, 16_384, 16_383], [40_000, 3, 3, 70_000]],
)
def test_pieces_fill_records(sizes: list[int]) -> None:
    buffers = [bytes([number]) * size for number, size in enumerate(sizes)]
    pieces = [bytes(piece) for piece in records(buffers)]
    assert b"".join(pieces) == b"".join(buffers)
    assert all(len(piece) % RECORD_SIZE == 0 for piece in pieces[:-1])
