"""One call in the journal."""

from odradek.broker.control.answers import Raw
from odradek.broker.control.journal.recorded import (
    SMALL_SIZE,
    WHOLE_SIZE_MAX,
    Recorded,
)
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.registry import NO_RESPONSE


def recorded(size: int = 10) -> Recorded:
    return Recorded(ConnectionInfo(), memoryview(bytes(size)), 0.0)


def test_what_is_small_is_kept_whole() -> None:
    call = recorded()
    call.take([b"ab", memoryview(b"cd")])
    assert (call.request, call.answer) == (bytes(10), b"abcd")
    assert (call.size, call.is_large) == (14, False)


def test_what_is_large_is_made_small() -> None:
    large_request, large_answer = recorded(WHOLE_SIZE_MAX + 1), recorded()
    large_request.take(b"")
    large_answer.take([bytes(WHOLE_SIZE_MAX), b"x"])
    for call in (large_request, large_answer):
        assert call.is_large
        call.make_small("all that is left")
        assert call.size == SMALL_SIZE
        assert call.request is None
        assert call.answer is None


def test_answers_of_all_kinds() -> None:
    raw, none = recorded(), recorded()
    raw.take(Raw(b"abc"))
    none.take(NO_RESPONSE)
    assert (raw.size, raw.outcome) == (13, "answered")
    assert (none.size, none.outcome) == (10, "unanswered")
