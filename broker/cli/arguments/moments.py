"""Moments and durations, as people write them in arguments."""

from __future__ import annotations

import argparse
import re

_ISO_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def moment_ms(text: str) -> int:
    """An ISO 8601 date and time, in ms since 1970; UTC where it has no zone.

    For ``type=``.
    """
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a date and time; write it like 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    if since.days < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is before 1970")
    return (
        since.days * _UNIT_MS["d"] + since.seconds * 1000 + since.microseconds // 1000
    )


def instant_ms(text: str) -> int:
    """The same, or the ms since 1970 themselves; for ``type=``."""
    if text.isascii() and text.isdigit():
        return _int64(int(text), text)
    return moment_ms(text)


def _int64(value: float, text: str) -> int:
    if value >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is too much")
    return int(value)


def duration_ms(text: str) -> int:
    """A duration like ``2h``, ``7d`` or ``PT2H``, in ms; for ``type=``."""
    found = _DURATION.fullmatch(text)
    if found is not None:
        return _int64(float(found[1]) * _UNIT_MS[found[2]], text)
    iso = _ISO_DURATION.fullmatch(text)
    if iso is None or not any(iso.groups()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; write it like 2h, 7d or PT2H"
        )
    counts = [float(count or 0) for count in iso.groups()]
    units = [_UNIT_MS[unit] for unit in ("d", "h", "m", "s")]
    spans = (count * unit for count, unit in zip(counts, units, strict=True))
    return _int64(sum(spans), text)


def moment_text(moment_ms: int) -> str:
    """Like ``2026-01-31T12:00:00.250Z``; the number itself where no calendar helps."""
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment_ms)
    except OverflowError:
        return str(moment_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration_text(duration_ms: int) -> str:
    """The largest unit and the next, like ``3h 20m``; below a minute ``12.5s``."""
    if duration_ms < _UNIT_MS["m"]:
        return f"{max(duration_ms, 0) / 1000:g}s"
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, duration_ms = divmod(duration_ms, _UNIT_MS[unit])
        if count or parts:
            parts.append(f"{count}{unit}")
    return " ".join(part for part in parts[:2] if part[0] != "0")
