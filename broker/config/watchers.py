"""Those who are told of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_News = TypeVar("_News")


def tell_all(watchers: Iterable[Callable[[_News], object]], news: _News) -> None:
    """Call each of them: who raises something keeps no other from hearing it.

    The first that was raised is raised when all have heard.
    """
    raised: Exception | None = None
    for watcher in watchers:
        try:
            watcher(news)
        except Exception as error:
            raised = raised or error
    if raised is not None:
        raise raised
