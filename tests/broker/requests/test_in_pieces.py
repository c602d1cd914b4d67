"""An answer that leaves in pieces: what leaves is the answer, and each piece alone."""

from odradek.broker.requests.in_pieces import (
    PIECE_COUNT,
    PIECE_INTERVAL_MS,
    InPieces,
)
from odradek.broker.runtime.parked import ParkedFrame
from tests.fakes.clock import FakeClock
from tests.fakes.network import ROUTE, Words, frame


def test_together_they_are_the_answer() -> None:
    pieces, clock = parked(b"handshake")
    clock.advance(PIECE_COUNT * PIECE_INTERVAL_MS)
    assert b"".join(piece.response for piece in pieces) == frame("handshake")
    assert len(pieces) == PIECE_COUNT
    assert all(piece.response and piece.is_framed for piece in pieces)


def test_each_comes_an_interval_after_the_one_before() -> None:
    pieces, clock = parked(b"handshake")
    for count in range(PIECE_COUNT):
        clock.advance(PIECE_INTERVAL_MS - 1)
        assert sum(piece.is_done for piece in pieces) == count
        clock.advance(1)
        assert [piece.is_done for piece in pieces[: count + 1]] == [True] * (count + 1)


def parked(body: bytes) -> tuple[list[ParkedFrame], FakeClock]:
    clock = FakeClock()
    return InPieces(Words(body)).parked(ROUTE, 0, clock), clock
