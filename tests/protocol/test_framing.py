import tracemalloc
from itertools import pairwise
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import MalformedRequest
from odradek.protocol.framing import (
    BEGINNING_SIZE_MAX,
    CHUNK_SIZE,
    CHUNK_SIZE_MAX,
    FrameReader,
    ReceiveChunk,
)
from tests.garbage import garbage, large_buffers

MAX = 200_000


def framed(*bodies: bytes) -> bytes:
    return b"".join(pack(">i", len(body)) + body for body in bodies)


def feed(reader: FrameReader, data: bytes) -> list[memoryview]:
    """Give ``data`` as a socket would: as much at a time as the buffer takes."""
    frames = []
    while data:
        buffer = reader.get_buffer()
        assert len(buffer) > 0
        count = min(len(buffer), len(data))
        buffer[:count] = data[:count]
        frames += reader.received(count)
        data = data[count:]
    return frames


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


BODIES = st.lists(
    st.binary(min_size=1, max_size=40)
    | st.sampled_from([1000, 16380, 16381, 20_000, 70_000]).map(bytes),
    max_size=12,
)


@given(BODIES, st.lists(st.integers(0, 1 << 20), max_size=12))
def test_any_split_of_the_stream_gives_the_same_frames(
    bodies: list[bytes], cuts: list[int]
) -> None:
    reader = FrameReader(MAX)
    frames = []
    for piece in pieces(framed(*bodies), cuts):
        frames += feed(reader, piece)
    # Compared at the end only: nothing that came later was written over a frame.
    assert frames == bodies
    assert reader.pending == 0


@given(BODIES, st.integers(0, 1 << 20), st.lists(st.integers(0, 1 << 20), max_size=4))
def test_pending_counts_what_came_of_an_unfinished_frame(
    bodies: list[bytes], cut: int, cuts: list[int]
) -> None:
    stream = framed(*bodies, b"last frame")
    received = stream[: cut % len(stream)]
    reader = FrameReader(MAX)
    frames = []
    for piece in pieces(received, cuts):
        frames += feed(reader, piece)
    assert sum(4 + len(frame) for frame in frames) + reader.pending == len(received)


def test_split_at_every_byte() -> None:
    bodies = [b"a", b"bcd" * 10, b"e" * 300]
    stream = framed(*bodies)
    for cut in range(len(stream)):
        reader = FrameReader(MAX)
        assert feed(reader, stream[:cut]) + feed(reader, stream[cut:]) == bodies
    reader = FrameReader(MAX)
    frames = [frame for byte in stream for frame in feed(reader, bytes([byte]))]
    assert frames == bodies


def test_a_thousand_pipelined_frames() -> None:
    bodies = [b"%d" % number * 9 for number in range(1000)]
    assert feed(FrameReader(MAX), framed(*bodies)) == bodies


def test_small_frames_come_several_at_a_time() -> None:
    reader = FrameReader(MAX)
    stream = framed(b"one", b"two", b"three")
    reader.get_buffer()[: len(stream)] = stream
    assert reader.received(len(stream)) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("size", [0, -1, -(1 << 31), MAX + 1, (1 << 31) - 1])
def test_impossible_size_is_malformed(size: int) -> None:
    reader = FrameReader(MAX)
    with pytest.raises(MalformedRequest, match=f"frame of {size} bytes"):
        feed(reader, pack(">i", size))


@pytest.mark.parametrize("size", [1, MAX])
def test_smallest_and_largest_frame(size: int) -> None:
    assert feed(FrameReader(MAX), framed(bytes(size))) == [bytes(size)]


def test_frames_in_front_of_an_impossible_size_are_not_lost() -> None:
    reader = FrameReader(MAX)
    assert feed(reader, framed(b"one", b"two") + pack(">i", -5) + b"x") == [
        b"one",
        b"two",
    ]
    assert reader.pending == 5
    for _ in range(2):
        with pytest.raises(MalformedRequest, match="-5 bytes"):
            reader.received(0)


def test_nothing_to_refuse_is_no_frame() -> None:
    reader = FrameReader(MAX)
    assert reader.received(0) == []
    feed(reader, framed(b"one")[:-1])
    assert reader.received(0) == []


def test_frames_can_be_written_to() -> None:
    small, large = feed(FrameReader(MAX), framed(b"small", bytes(50_000)))
    small[0] = ord("S")
    large[0] = 1
    assert (bytes(small), large[0]) == (b"Small", 1)


def test_memory_follows_what_came_not_what_was_claimed() -> None:
    reader = FrameReader(100 << 20)
    feed(reader, pack(">i", 100 << 20))
    received = 4
    while received < 40_000:
        assert len(reader.get_buffer()) + received <= max(1024, 2 * received)
        feed(reader, bytes(100))
        received += 100
    assert reader.pending == received


def test_connection_that_delivered_a_large_frame_is_trusted_with_another() -> None:
    reader = FrameReader(MAX)
    feed(reader, framed(bytes(100_000)))
    feed(reader, pack(">i", 100_000))
    assert len(reader.get_buffer()) == 100_000
    feed(reader, bytes(100_000) + pack(">i", 100_001))
    assert len(reader.get_buffer()) < 2000


def test_nobody_is_trusted_with_what_there_is_no_room_for() -> None:
    asked: list[int] = []

    def has_room(size: int) -> bool:
        asked.append(size)
        return size < 60_000

    reader = FrameReader(MAX, has_room=has_room)
    feed(reader, framed(bytes(100_000)))
    feed(reader, pack(">i", 100_000))
    assert reader.held == 1024
    feed(reader, bytes(50_000))
    assert reader.held < 2 * 50_004
    (frame,) = feed(reader, bytes(50_000))
    assert (len(frame), reader.held) == (100_000, 0)
    feed(reader, pack(">i", 50_000))
    assert reader.held == 50_004
    asked.clear()
    feed(reader, bytes(10))
    assert not asked, "what it was trusted with it keeps"


def test_what_has_come_of_a_frame_is_let_go_of() -> None:
    reader = FrameReader(MAX)
    feed(reader, framed(bytes(50_000))[:-1])
    assert reader.held > reader.pending > 50_000
    reader.close()
    assert (reader.held, reader.pending) == (0, 0)


def test_a_refusal_holds_on_to_nothing() -> None:
    with garbage() as found:
        reader = FrameReader(MAX)
        with pytest.raises(MalformedRequest):
            feed(reader, pack(">i", -1) + bytes(10_000))
        del reader
    assert not large_buffers(found)


def test_frames_of_a_common_size_come_in_one_piece() -> None:
    reader = FrameReader(MAX)
    assert len(reader.get_buffer()) >= CHUNK_SIZE
    feed(reader, framed(bytes(17_000)))
    assert len(reader.get_buffer()) >= 2 * 17_004
    feed(reader, framed(bytes(150_000)))
    assert len(reader.get_buffer()) == CHUNK_SIZE_MAX


def test_small_frames_of_many_readers_lie_in_one_buffer() -> None:
    chunk = ReceiveChunk()
    readers = [FrameReader(MAX, chunk) for _ in range(3)]
    frames = []
    for body in (b"one", b"two"):
        for number, reader in enumerate(readers):
            frames += feed(reader, framed(body + b"%d" % number))
    assert frames == [b"one0", b"one1", b"one2", b"two0", b"two1", b"two2"]
    assert len({id(frame.obj) for frame in frames}) == 1


@given(
    st.lists(BODIES, min_size=2, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 50_000)), max_size=40),
)
def test_readers_that_share_a_chunk_do_not_mix(
    bodies: list[list[bytes]], turns: list[tuple[int, int]]
) -> None:
    chunk = ReceiveChunk()
    readers = [FrameReader(MAX, chunk) for _ in bodies]
    streams = [framed(*each) for each in bodies]
    frames: list[list[memoryview]] = [[] for _ in bodies]
    everybody = [(place, MAX * 12) for place in range(len(bodies))]
    for turn, size in turns + everybody:
        place = turn % len(bodies)
        frames[place] += feed(readers[place], streams[place][:size])
        streams[place] = streams[place][size:]
    assert frames == bodies


def test_memory_that_nobody_holds_is_received_into_again() -> None:
    reader = FrameReader(MAX)
    stream = framed(b"x" * (CHUNK_SIZE_MAX - CHUNK_SIZE))
    frames = feed(reader, stream)
    assert reader.get_buffer()[100] == 0, "new memory"
    del frames
    feed(reader, stream)
    assert reader.get_buffer()[100] == ord("x")


def test_memory_of_which_somebody_holds_a_part_is_left_alone() -> None:
    chunk, stream = ReceiveChunk(), framed(b"x" * 10_000)
    reader, other = FrameReader(MAX, chunk), FrameReader(MAX, chunk)
    (held,) = feed(reader, framed(b"held"))
    part = held[1:3]
    del held
    for _ in range(100):
        feed(other, stream)
    assert part == b"el"


@given(st.lists(st.tuples(st.integers(1, 60_000), st.booleans()), max_size=30))
def test_frames_that_are_held_stay_as_they_are(turns: list[tuple[int, bool]]) -> None:
    reader, held = FrameReader(MAX), []
    for number, (size, is_held) in enumerate(turns):
        body = bytes([number]) * size
        frames = feed(reader, framed(body))
        assert frames == [body]
        if is_held:
            held.append((frames[0], body))
        del frames
    assert all(frame == body for frame, body in held)


def test_idle_readers_hold_no_buffer() -> None:
    chunk = ReceiveChunk()
    readers = [FrameReader(MAX, chunk) for _ in range(500)]
    stream = framed(b"x" * 100)
    tracemalloc.start()
    try:
        for reader in readers:
            feed(reader, stream)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 500 * 100 + CHUNK_SIZE_MAX


def test_how_a_refused_frame_begins_is_kept() -> None:
    reader = FrameReader(MAX)
    assert reader.refused == b""
    stream = framed(b"one") + pack(">i", MAX + 1) + bytes(2 * BEGINNING_SIZE_MAX)
    assert feed(reader, stream) == [b"one"]
    assert reader.refused == stream[len(framed(b"one")) :][:BEGINNING_SIZE_MAX]
    reader = FrameReader(MAX)
    with pytest.raises(MalformedRequest):
        feed(reader, b"GET /")
    assert reader.refused == b"GET /"
