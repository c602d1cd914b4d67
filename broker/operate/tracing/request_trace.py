"""What is noted of one request: its steps, each with its time and its function."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STEPS_MAX = 200
_ROOT = "odradek."


class Step(NamedTuple):
    """Something that has happened, ``at_ns`` after the request was there."""

    text: str
    path: str
    function: str
    at_ns: int


class RequestTrace:
    """A request on its way, and what it was seen to do.

    ``owned`` are the things that are known to have to do with it: partitions that it
    has written to, its answer. What happens to them later belongs to it, too. What the
    notes themselves take is left out of the times (``spent_ns``).
    """

    def __init__(
        self, head: dict[str, Any], now_ns: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        """``head`` says which request it is."""
        self.head = head
        self.steps: list[Step] = []
        self.owned: dict[int, object] = {}
        self.seen: set[object] = set()  # what may happen to it once
        self.is_long = False
        self.outcome: str | None = None  # None: it is still on its way
        self.error: str | None = None
        self.spent_ns = 0
        self.queue: Any = None
        self.place: Any = None  # in the queue
        self.answer: Any = None
        self.is_framed = False  # an answer that is bytes is the whole frame
        self.route: Any = None
        self.is_encoded = False
        self.now_ns = now_ns
        self.noted_ns = self._began_ns = now_ns()

    def own(self, things: Iterable[object]) -> None:
        """What happens to these is part of it."""
        for each in things:
            self.owned[id(each)] = each

    def owns(self, things: Iterable[object]) -> bool:
        """Whether any of these has to do with it."""
        owned = self.owned
        return any(owned.get(id(each)) is each for each in things)

    def note(self, function: Any, text: str, now_ns: int) -> None:
        """It has got to ``function``."""
        self.noted_ns = now_ns
        if len(self.steps) < STEPS_MAX:
            at_ns = now_ns - self._began_ns - self.spent_ns
            path = path_of(function.__module__)
            self.steps.append(Step(text, path, function.__qualname__, at_ns))

    def as_item(self) -> dict[str, Any]:
        """For an answer in JSON; times in microseconds since the request was there."""
        return {
            **self.head,
            "way": "long" if self.is_long else "short",
            "outcome": self.outcome or "unfinished",
            "error": self.error,
            "steps": [
                {
                    "text": step.text,
                    "file": step.path,
                    "function": step.function,
                    "atUs": round(step.at_ns / 1000, 1),
                }
                for step in self.steps
            ],
        }


def path_of(module: str) -> str:
    """The file of a module of ours, as it is called in the repository."""
    return module.removeprefix(_ROOT).replace(".", "/") + ".py"
