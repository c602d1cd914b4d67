from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.cluster.peers import IsrCounts
from odradek.broker.cluster.registration.membership import Stage
from odradek.broker.cluster.standing import Standing


class Member:
    """One whose stage the test says."""

    def __init__(self, stage: Stage) -> None:
        self.membership = SimpleNamespace(stage=stage, trouble="")
        self.why_stale = ""


def standing(stage: Stage) -> tuple[Any, Standing]:
    member: Any = Member(stage)
    return member, Standing(member, IsrCounts(), cast("Any", None))


def test_one_that_is_let_in_is_ready() -> None:
    member, found = standing(Stage.SERVING)
    assert (list(found.why_not_ready()), found.state) == ([], 3)
    member.why_stale = "no room"
    assert list(found.why_not_ready()) == [
        "what the controllers have decided is not applied: no room"
    ]


def test_one_that_is_fenced_says_what_it_knows() -> None:
    member, found = standing(Stage.UNFENCING)
    fenced = "the controllers keep clients away from it (it is fenced)"
    assert list(found.why_not_ready()) == [fenced]
    member.membership.trouble = "Connection refused"
    assert list(found.why_not_ready()) == [f"{fenced}: Connection refused"]


@pytest.mark.parametrize(("stage", "number"), [(Stage.LEAVING, 6), (Stage.GONE, 7)])
def test_one_that_stops_is_none(stage: Stage, number: int) -> None:
    _, found = standing(stage)
    assert list(found.why_not_ready()) == [
        "it is stopping, and gives others what it leads"
    ]
    assert found.state == number
