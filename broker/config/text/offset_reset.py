"""Where a group begins that was nowhere yet: ``share.auto.offset.reset``."""

from __future__ import annotations

import re
from typing import NamedTuple

EARLIEST, LATEST, BY_DURATION = "earliest", "latest", "by_duration"
_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 3_600_000, 60_000, 1_000
# As Java reads a duration of ISO 8601: days and smaller units, a fraction of seconds.
_DURATION = re.compile(
    r"P(?:([0-9]{1,9})D)?"
    r"(T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:\.([0-9]{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)


class OffsetReset(NamedTuple):
    """The beginning, the end, or what was written at most ``duration_ms`` ago."""

    strategy: str
    duration_ms: int = 0


def parse_offset_reset(text: str) -> OffsetReset:
    """What a group says: ``latest``, ``earliest``, ``by_duration:<ISO 8601>``.

    Raises:
        ValueError: it says none of these.
    """
    if text in (EARLIEST, LATEST):
        return OffsetReset(text)
    strategy, colon, duration = text.partition(":")
    if strategy != BY_DURATION or not colon:
        raise ValueError("It must be latest, earliest, or by_duration:<duration>")
    return OffsetReset(BY_DURATION, _duration_ms(duration))


def _duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None or text.upper().endswith(("P", "T")):
        raise ValueError(
            "The duration must be one of ISO 8601 that is not negative, such as PT1H "
            "or P2DT12H"
        )
    days, _, hours, minutes, seconds, fraction = found.groups()
    return (
        int(days or 0) * _DAY_MS
        + int(hours or 0) * _HOUR_MS
        + int(minutes or 0) * _MINUTE_MS
        + int(seconds or 0) * _SECOND_MS
        + int(((fraction or "") + "000")[:3])
    )
