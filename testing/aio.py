"""The methods of a broker for tests, to be awaited: with asyncio, and with trio.

Each runs in a thread of its own, which nobody waits for when the test is cancelled:
no loop is kept, and none is needed to make a broker.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType


class Aio:
    """What ``target`` offers; a method gives something to be awaited.

    One that gives a context manager may be entered instead: ``async with``. So may
    what it has of the kit's own: ``await broker.aio.wait.records(topic, 3)``.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        is_function = isinstance(found, types.MethodType | types.FunctionType)
        is_ours = type(found).__module__.startswith(__package__ or "")
        return Aio(found) if is_function or is_ours else found

    def __call__(self, *arguments: Any, **named: Any) -> Awaited:
        """Call it when that is awaited."""
        return Awaited(functools.partial(self._target, *arguments, **named))


class Awaited:
    """A call that is made when it is awaited, or entered."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._entered: Any = None

    def __await__(self) -> Generator[Any, Any, Any]:
        return in_thread(self._call).__await__()

    async def __aenter__(self) -> Any:
        self._entered = await in_thread(self._call)
        return await in_thread(self._entered.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        leave = functools.partial(self._entered.__exit__, kind, error, trace)
        return await in_thread(leave)


async def in_thread(call: Callable[[], Any]) -> Any:
    """What the call returns or raises, while the loop goes on."""
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        if trio is None:
            raise
        return await trio.to_thread.run_sync(call, abandon_on_cancel=True)
    future: asyncio.Future[Any] = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
        if future.done():  # cancelled
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = call()
        except BaseException as error:
            failure = error
        # The loop is closed when nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, result, failure)

    run = functools.partial(contextvars.copy_context().run, work)
    threading.Thread(target=run, name="odradek.testing", daemon=True).start()
    return await future
