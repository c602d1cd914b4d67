"""An answer that comes later, though all that it reports has been done."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from typing_extensions import TypeVar as TypeVarWithDefault

    Listener = Callable[["Parked"], object]
    # ``Parked`` alone brings anything.
    T_co = TypeVarWithDefault("T_co", covariant=True, default=Any)
else:
    T_co = TypeVar("T_co", covariant=True)

T = TypeVar("T")


class Parked(Generic[T_co]):
    """What a handler returns while its answer waits: set once, awaited or listened to.

    A future that knows no loop and has one listener, which is called at once and not
    in the next turn. A third of the price of an ``asyncio.Future``, and a request that
    waits for a sync has little else to pay for. The listener runs inside of a change
    of state: it may take note, and must leave the rest for later.
    """

    __slots__ = ("error", "is_done", "listener", "response")

    is_framed = False  # a response that is bytes is the whole frame of the answer
    error: BaseException | None
    response: Any  # None until it is there
    listener: Listener | None

    def __init__(self) -> None:
        self.error = self.response = self.listener = None
        self.is_done = False

    @classmethod
    def behind(cls, future: asyncio.Future[Any]) -> Parked:
        """The answer that ``future`` brings; cancelled, it is an error.

        What it brings may be parked itself, and is then waited for.
        """
        parked = cls()
        future.add_done_callback(parked._take)
        return parked

    def done(self) -> bool:
        """Whether the answer is there, or will never be."""
        return self.is_done

    def result(self) -> T_co:
        """The answer, which must be there; raises the error that came instead."""
        assert self.is_done, "the answer is not there yet"
        if self.error is not None:
            raise self.error
        answer: T_co = self.response
        return answer

    def set_result(self, response: Any) -> None:
        """Here is the answer."""
        self.response = response
        self._settle()

    def set_exception(self, error: BaseException) -> None:
        """There is none, but this."""
        self.error = error
        self._settle()

    def follow(self, answer: Any) -> None:
        """Here is the answer, or another one that will bring it."""
        if isinstance(answer, Parked):
            answer.listen(self._copy)
        else:
            self.set_result(answer)

    def listen(self, listener: Listener) -> None:
        """Call ``listener``, in place of the one before, when the answer is there."""
        if self.is_done:
            listener(self)
        else:
            self.listener = listener

    def __await__(self) -> Generator[Any, None, T_co]:
        if not self.is_done:
            future = asyncio.get_running_loop().create_future()
            self.listen(partial(_wake, future))
            yield from future
        return self.result()

    def _settle(self) -> None:
        assert not self.is_done, "answered twice"
        self.is_done = True
        listener = self.listener
        if listener is not None:
            self.listener = None
            listener(self)

    def twin(self) -> Parked[T_co]:
        """Another one, for somebody else to be told of the same."""
        return ParkedFrame() if self.is_framed else Parked()

    def _copy(self, answered: Parked) -> None:
        if answered.error is not None:
            self.set_exception(answered.error)
        else:
            self.set_result(answered.response)

    def _take(self, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            self.set_exception(asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self.set_exception(error)
        else:
            self.follow(future.result())


class ParkedFrame(Parked):
    """An answer of which the whole frame is there, unless something goes wrong."""

    __slots__ = ()

    is_framed = True


def _wake(future: asyncio.Future[None], parked: Parked) -> None:
    if not future.done():  # who waited was cancelled
        future.set_result(None)


def gathered(answers: Sequence[Any], finish: Callable[[list[Any]], T]) -> T | Parked[T]:
    """What ``finish`` makes of all answers, some of which may be parked.

    Parked itself, until none of them is any more.
    """
    waiting = [each for each in answers if isinstance(each, Parked) and not each.done()]
    if not waiting:
        return finish([_value(each) for each in answers])
    whole: Parked[T] = Parked()
    remaining = len(waiting)

    def note(_: Parked) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining:
            return
        try:
            whole.set_result(finish([_value(each) for each in answers]))
        except Exception as error:
            whole.set_exception(error)

    for each in waiting:
        each.listen(note)
    return whole


def _value(answer: Any) -> Any:
    return answer.result() if isinstance(answer, Parked) else answer
