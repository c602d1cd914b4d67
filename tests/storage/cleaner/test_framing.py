from io import BytesIO

from storage.cleaner.framing import LENGTH, framed, receive, send
from storage.cleaner.plan import CleanedSegment


def test_messages_come_out_as_they_went_in() -> None:
    messages = [CleanedSegment(5, (5, 9), 100), None, "text"]
    stream = BytesIO()
    for message in messages:
        send(stream, message)
    assert stream.getvalue() == b"".join(map(framed, messages))
    stream.seek(0)
    assert [receive(stream) for _ in messages] == messages


def test_the_length_is_that_of_what_follows() -> None:
    data = framed("text")
    assert LENGTH.unpack_from(data) == (len(data) - LENGTH.size,)
