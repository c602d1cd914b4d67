"""What a rule does to a request: the base of all that it can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.control.fields import Fields
    from odradek.broker.requests.dispatch import Exchange

    from .call import Call, Proceed
    from .match import Match

BEFORE, AFTER = "before", "after"


class Action(ABC):
    """One thing that is done to requests; ``held`` is how many wait for a release."""

    name: str
    held = 0

    @abstractmethod
    def __init__(self, fields: Fields, match: Match) -> None:
        """Take what it needs from the fields.

        Raises:
            AdminError: it makes no sense.
        """

    def api_keys(self, match: Match) -> Iterable[int]:
        """The APIs whose requests it has to see."""
        return match.api_keys

    def match_of(self, match: Match) -> Match:
        """What requests it has to see must be."""
        return match

    @abstractmethod
    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """What becomes of a request; ``proceed`` is what would without this rule."""

    def release(self, count: int | None = None) -> int:
        """Let go what it holds, the oldest first. Returns how many."""
        return 0

    def shown(self) -> dict[str, Any]:
        """What it was told, for an answer in JSON."""
        said = vars(self).items()
        return {name: value for name, value in said if not name.startswith("_")}
