"""Each question is put to the coordinator here as others put it."""

from typing import Any, cast

from odradek.broker.coordinator.share.questions import (
    DeleteState,
    InitialiseState,
    ReadState,
    StateQuestion,
    SummariseState,
    WriteState,
)
from odradek.broker.coordinator.share.state import StateUpdate
from tests.broker.coordinator.share.rig import KEY

UPDATE = StateUpdate(1, 2, 3, ())


class Here:
    """A coordinator that says what it was asked."""

    def initialise(self, starts: Any, state_epoch: int, finish: Any) -> Any:
        return finish({KEY: ("initialise", starts, state_epoch)})

    def read(self, *asked: Any) -> Any:
        return ("read", *asked)

    def write(self, *asked: Any) -> Any:
        return ("write", *asked)

    def summarise(self, keys: Any, finish: Any) -> Any:
        return finish({KEY: ("summarise", keys)})

    def delete(self, keys: Any, finish: Any) -> Any:
        return finish({KEY: ("delete", keys)})


def test_each_is_asked_here() -> None:
    here = cast("Any", Here())
    questions: list[tuple[StateQuestion, Any]] = [
        (InitialiseState(KEY, 4, 50), ("initialise", {KEY: 50}, 4)),
        (ReadState(KEY, 7), ("read", KEY, 7)),
        (WriteState(KEY, UPDATE), ("write", KEY, UPDATE)),
        (SummariseState(KEY), ("summarise", (KEY,))),
        (DeleteState(KEY), ("delete", (KEY,))),
    ]
    assert [each.ask(here) for each, _ in questions] == [x[1] for x in questions]
