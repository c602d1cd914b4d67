"""The notes of one request."""

import itertools

from odradek.broker.operate.tracing import request_trace
from odradek.broker.operate.tracing.request_trace import RequestTrace, path_of
from odradek.broker.replica.appends import Appends


def trace() -> RequestTrace:
    ticks = itertools.count(5_000_000, 1000)
    return RequestTrace({"api": 0}, lambda: next(ticks))


def test_steps_have_their_place_and_their_time() -> None:
    noted = trace()
    noted.note(Appends.append_one, "known", 5_002_500)
    noted.spent_ns = 400
    noted.note(Appends.append, "to append", 5_007_000)
    assert noted.as_item() == {
        "api": 0,
        "way": "short",
        "outcome": "unfinished",
        "error": None,
        "steps": [
            {
                "text": "known",
                "file": "broker/replica/appends.py",
                "function": "Appends.append_one",
                "atUs": 2.5,
            },
            {
                "text": "to append",
                "file": "broker/replica/appends.py",
                "function": "Appends.append",
                "atUs": 6.6,
            },
        ],
    }


def test_there_are_only_so_many() -> None:
    noted = trace()
    for _ in range(request_trace.STEPS_MAX + 5):
        noted.note(trace, "again", 5_000_000)
    assert len(noted.steps) == request_trace.STEPS_MAX


def test_what_it_owns_is_the_thing_itself() -> None:
    noted, mine, alike = trace(), [1], [1]
    noted.own((mine,))
    assert noted.owns((alike, mine))
    assert not noted.owns((alike,))
    assert not noted.owns(())


def test_the_path_of_a_module() -> None:
    assert path_of("odradek.storage.log.appender") == "storage/log/appender.py"
