"""Numbers that benchmarks are given: one that cannot be is refused in a sentence."""

import argparse
import math
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """A whole number that is not less; for ``type=``."""

    def read(text: str) -> int:
        sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text)
        if not (digits.isascii() and digits.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
        number = int(sign + digits)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is too few; at least {least}")
        return number

    return read


def seconds(least: float) -> Callable[[str], float]:
    """Seconds that are not less; for ``type=``."""

    def read(text: str) -> float:
        try:
            given = float(text)
        except ValueError:
            given = math.nan
        if not math.isfinite(given):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
        if given < least:
            raise argparse.ArgumentTypeError(f"{text} s is too short; at least {least}")
        return given

    return read


def some_of(*names: str) -> Callable[[str], list[str]]:
    """Some of the names, with commas between them; for ``type=``."""

    def read(text: str) -> list[str]:
        chosen = [name.strip() for name in text.split(",") if name.strip()]
        unknown = sorted(set(chosen) - set(names))
        if unknown or not chosen:
            raise argparse.ArgumentTypeError(
                f"no {', '.join(unknown) or 'name'}; there are {', '.join(names)}"
            )
        return chosen

    return read
