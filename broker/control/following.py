"""Answers as they are given, seen by somebody who leaves them as they are."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, Protocol

from odradek.broker.requests.registry import NoResponse
from odradek.broker.runtime.parked import Parked

if TYPE_CHECKING:
    from collections.abc import Coroutine

# Answers that are there, mostly; whatever else is may be one that comes.
THERE = frozenset({bytes, list, NoResponse})


class Note(Protocol):
    """Called once, when the answer is there, or when there will be none."""

    def __call__(
        self, answer: Any, *, is_framed: bool = False, error: object = None
    ) -> None:
        """``is_framed``: bytes are the whole frame; ``error``: it failed with that."""


def follow(answer: Any, note: Note) -> Any:
    """What is to be given on in place of ``answer``: itself, if it is there."""
    if type(answer) in THERE:
        note(answer)
        return answer
    if isinstance(answer, asyncio.Future):
        answer = Parked.behind(answer)
    if isinstance(answer, Parked):
        return _parked(answer, note)
    if inspect.iscoroutine(answer):
        return _awaited(answer, note)
    note(answer)
    return answer


def _parked(answer: Parked[Any], note: Note) -> Parked[Any]:
    told = answer.twin()

    def pass_on(done: Parked[Any]) -> None:
        note(done.response, is_framed=done.is_framed, error=done.error)
        if done.error is not None:
            told.set_exception(done.error)
        else:
            told.set_result(done.response)

    answer.listen(pass_on)
    return told


async def _awaited(answering: Coroutine[Any, Any, Any], note: Note) -> Any:
    try:
        answer = await answering
    except BaseException as error:
        note(None, error=error)
        raise
    return follow(answer, note)
