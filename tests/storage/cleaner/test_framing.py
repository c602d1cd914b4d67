from io import BytesIO

import pytest

from odradek.storage.cleaner.framing import LENGTH, receive, send
from odradek.storage.cleaner.plan import CleanedSegment


def test_messages_come_out_as_they_went_in() -> None:
    messages = [CleanedSegment(5, (5, 9), 100), None, "text"]
    stream = BytesIO()
    for message in messages:
        send(stream, message)
    stream.seek(0)
    assert [receive(stream) for _ in messages] == messages


def test_half_a_message_is_none() -> None:
    stream = BytesIO()
    send(stream, "text")
    data = stream.getvalue()
    assert LENGTH.unpack_from(data) == (len(data) - LENGTH.size,)
    for size in range(len(data)):
        with pytest.raises(EOFError):
            receive(BytesIO(data[:size]))
