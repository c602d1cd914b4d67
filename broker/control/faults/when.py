"""Which of the requests that match a rule are hit."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from odradek.broker.control.fields import Fields, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEED_MAX = (1 << 31) - 1
NAMES = ("skip", "times", "every", "probability", "seed")


class When:
    """Decides one request after the other: after ``skip``, each ``every``-th, perhaps.

    Two that were made alike, with the same seed, decide alike.
    """

    def __init__(
        self,
        skip: int = 0,
        times: int | None = None,
        every: int = 1,
        probability: float = 1.0,
        seed: int | None = None,
    ) -> None:
        """``times``: None for as often as it comes to that."""
        self.seed = random.randint(0, _SEED_MAX) if seed is None else seed
        self.left = times
        self._skip = skip
        self._every = every
        self._probability = probability
        self._random = random.Random(self.seed)
        self._seen = 0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> When:
        """What a request says.

        Raises:
            AdminError: it makes no sense.
        """
        fields = Fields(given)
        skip = fields.number("skip", 0, at_least=0)
        times = fields.number("times", None, at_least=1)
        every = fields.number("every", 1, at_least=1)
        probability = fields.fraction("probability", 1.0)
        seed = fields.number("seed", None)
        fields.end()
        if not 0 <= probability <= 1:
            raise refusal(f"probability is {probability}; it is from 0 to 1")
        return cls(skip, times, every, probability, seed)

    @property
    def is_used_up(self) -> bool:
        """Whether it will hit nothing more."""
        return self.left == 0

    def use_up(self) -> None:
        """Hit nothing more."""
        self.left = 0

    def hits(self) -> bool:
        """Whether the next request that matches is hit."""
        if self.is_used_up:
            return False
        number, self._seen = self._seen, self._seen + 1
        if number < self._skip or (number - self._skip + 1) % self._every:
            return False
        if self._probability < 1 and self._random.random() >= self._probability:
            return False
        if self.left is not None:
            self.left -= 1
        return True
