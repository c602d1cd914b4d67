import pytest

from odradek.broker.requests import known_requests
from odradek.broker.requests.known_requests import KnownRequests


def test_where_there_are_too_many_all_begin_anew_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known_requests, "KEPT_MAX", 3)
    known: KnownRequests[int] = KnownRequests()
    learnt = []
    for number in range(8):
        if known.has_room():
            known.by_bytes[b"%d" % number] = number
            learnt.append(number)
    assert learnt == [0, 1, 2, 5, 6, 7]
    assert list(known.by_bytes.values()) == [5, 6, 7]
