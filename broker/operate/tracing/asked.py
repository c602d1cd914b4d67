"""The request ``trace`` of the admin socket: what it says, and what it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.operate.admin_socket import AdminError

from .tracer import Ask, Tracer
from .wanted import API_OF, Wanted
from .watch import NoWatch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from odradek.broker.requests.services import Services

COUNT_MAX = 1000
TIMEOUT_MS_MAX = 3_600_000
_FILTERS = ("topic", "group", "clientId")
_KNOWN = ("what", "count", "timeoutMs", *_FILTERS)


async def traced(
    request: Mapping[str, Any], tracer: Tracer, services: Services
) -> AsyncIterator[Mapping[str, Any]]:
    """An item for each request that was watched, when its answer has left.

    When the time is over those that are on their way come as far as they have got.

    Raises:
        AdminError: that cannot be asked.
    """
    wanted, count, timeout_ms = parsed(request)
    ask = Ask(wanted, count)
    try:
        tracer.begin(ask)
    except NoWatch as error:
        raise AdminError("busy", str(error)) from None
    timer = services.clock.call_later(timeout_ms, ask.end)
    try:
        for _ in range(count):
            trace = await ask.done.get()
            if trace is None:
                break
            ask.begun.remove(trace)
            yield trace.as_item()
        for trace in list(ask.begun):
            yield trace.as_item()
    finally:
        timer.cancel()
        tracer.end(ask)


def parsed(request: Mapping[str, Any]) -> tuple[Wanted, int, int]:
    """What is wanted, how many of it, and for how many milliseconds.

    Raises:
        AdminError: it says something else.
    """
    strange = [name for name in request if name not in _KNOWN]
    if strange:
        raise AdminError("malformed", f"unknown: {', '.join(strange)}")
    what = request.get("what")
    api = API_OF.get(what) if isinstance(what, str) else None
    if api is None:
        raise AdminError("malformed", f"what must be one of {', '.join(API_OF)}")
    for name in _FILTERS:
        if not isinstance(request.get(name), str | None):
            raise AdminError("malformed", f"{name} must be text")
    wanted = Wanted(api, *(request.get(name) for name in _FILTERS))
    count = _number(request, "count", 1, COUNT_MAX)
    return wanted, count, _number(request, "timeoutMs", 30_000, TIMEOUT_MS_MAX)


def _number(request: Mapping[str, Any], name: str, default: int, largest: int) -> int:
    number = request.get(name, default)
    if type(number) is not int or not 1 <= number <= largest:
        raise AdminError("malformed", f"{name} must be a number from 1 to {largest}")
    return number
