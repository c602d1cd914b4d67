"""What the pipeline's sources raise: every message says what to do."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


class SourceError(Exception):
    """A topic cannot be read as it was asked for."""


class SourceAway(SourceError):
    """The brokers do not give an answer now; a stream tries again."""


class BadOption(SourceError):
    """An option is unknown, has a value it cannot have, or does not go with another."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"Option {option}: {reason}")
        self.option = option
        self.reason = reason

    def __reduce__(self) -> tuple[type[BadOption], tuple[str, str]]:
        return type(self), (self.option, self.reason)


class DataLoss(SourceError):
    """Records that should be there are not; ``failOnDataLoss=false`` goes on."""


class TopicRecreated(SourceError):
    """A topic of the same name is another one now: it was deleted and created."""


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A sentence with the name that looks most like it, or nothing."""
    lowered = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f" Did you mean {lowered[close[0]]}?" if close else ""
