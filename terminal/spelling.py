"""What a word was meant to be that nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that ``word`` was most likely meant to be."""
    from difflib import get_close_matches  # only when something is wrong: 3 ms

    close = get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return close[0] if close else None
