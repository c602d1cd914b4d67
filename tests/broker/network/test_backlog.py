from odradek.broker.network.backlog import Backlog


def test_frames_come_out_in_their_order() -> None:
    backlog = Backlog()
    for text in (b"one", b"two", b"three"):
        backlog.add(memoryview(bytearray(text)))
    assert backlog.size == 11
    assert list(backlog.take()) == [b"one", b"two", b"three"]
    assert (backlog.size, len(backlog.take())) == (0, 0)


def test_a_small_frame_does_not_keep_what_it_was_received_with() -> None:
    chunk = bytearray(100_000)
    backlog = Backlog()
    backlog.add(memoryview(chunk)[10:20])
    chunk.pop()  # refused while somebody holds a view
    (frame,) = backlog.take()
    assert frame == bytes(10)
    frame[0] = 1


def test_a_large_frame_is_not_copied() -> None:
    buffer = bytearray(100_000)
    backlog = Backlog()
    backlog.add(memoryview(buffer)[4:])
    (frame,) = backlog.take()
    assert frame.obj is buffer


def test_what_is_cleared_is_let_go_of() -> None:
    buffer = bytearray(100)
    backlog = Backlog()
    backlog.add(memoryview(buffer))
    backlog.clear()
    buffer.pop()
    assert (backlog.size, len(backlog.take())) == (0, 0)
