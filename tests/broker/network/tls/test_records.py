import pytest

from odradek.broker.network.tls.records import RECORD_SIZE, records


@pytest.mark.parametrize(
    "sizes",
    [[], [5], [10, 20_000, 7], [16_384], [1, 16_384, 16_383], [40_000, 3, 3, 70_000]],
)
def test_pieces_fill_records(sizes: list[int]) -> None:
    buffers = [bytes([number]) * size for number, size in enumerate(sizes)]
    pieces = [bytes(piece) for piece in records(buffers)]
    assert b"".join(pieces) == b"".join(buffers)
    assert all(len(piece) % RECORD_SIZE == 0 for piece in pieces[:-1])
