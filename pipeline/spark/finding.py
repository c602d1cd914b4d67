"""What the doctor has found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing: what, whether it is as it must be, and what would help."""

    check: str
    is_ok: bool
    detail: str
    advice: str = ""


def first_line(error: Exception) -> str:
    """The line of an error that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("at ")]
    telling = [line for line in told if "Error" in line or "Exception: " in line]
    return (telling or told or [type(error).__name__])[0]
