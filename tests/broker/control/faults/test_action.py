"""What all actions have in common."""

from typing import Any

import pytest

from odradek.broker.control.faults.action import Action
from odradek.broker.control.faults.match import Match
from odradek.broker.control.fields import Fields


class Nothing(Action):
    name = "nothing"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.size = fields.number("size")
        self._own = "not shown"

    def act(self, call: Any, proceed: Any) -> Any:
        return proceed(call.frame)


def test_it_shows_what_it_was_told_and_holds_nothing() -> None:
    match = Match(api=3)
    action = Nothing(Fields({"size": 5}), match)
    assert action.shown() == {"size": 5}
    assert (action.held, action.release()) == (0, 0)
    assert action.match_of(match) is match
    assert list(action.api_keys(match)) == [3]


def test_one_that_says_nothing_of_requests_is_none() -> None:
    class Unfinished(Action):
        name = "unfinished"

        def __init__(self, fields: Fields, match: Match) -> None:
            pass

    with pytest.raises(TypeError, match="abstract"):
        Unfinished(Fields({}), Match(api=3))  # type: ignore[abstract]
