"""What one step of a diagnosis found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One step: what was tried, where, what came of it, and what would help."""

    check: str
    target: str
    is_ok: bool
    detail: str
    advice: str = ""
