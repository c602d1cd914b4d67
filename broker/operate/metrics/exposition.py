"""The text that Prometheus reads (format 0.0.4): families of samples.

Written here, and not by prometheus-client: for 14,000 samples (1,000 partitions) that
took 72 ms of CPU and this takes 4, and the loop serves nobody meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.runtime.histogram import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
COUNTER = "counter"
GAUGE = "gauge"
HISTOGRAM = "histogram"
UNTYPED = "untyped"  # a counter whose name does not end in _total


class Family:
    """All samples of one name."""

    __slots__ = ("kind", "lines", "meaning", "name")

    def __init__(self, name: str, kind: str, meaning: str) -> None:
        self.name = name
        self.kind = kind
        self.meaning = meaning
        self.lines: list[str] = []

    def add(self, value: float, label_text: str = "") -> None:
        """A sample; ``label_text`` as `labels` makes it."""
        self.lines.append(f"{self.name}{label_text} {value}")

    def add_histogram(self, histogram: Histogram, **given: object) -> None:
        """The samples of a histogram."""
        count = 0
        for bound, count in histogram.cumulative():
            self._add_as("bucket", count, labels(**given, le=f"{bound:g}"))
        count += histogram.counts[-1]
        self._add_as("bucket", count, labels(**given, le="+Inf"))
        self._add_as("sum", histogram.total, labels(**given))
        self._add_as("count", count, labels(**given))

    def _add_as(self, suffix: str, value: float, label_text: str) -> None:
        self.lines.append(f"{self.name}_{suffix}{label_text} {value}")


def counter(name: str, meaning: str) -> Family:
    """A family of what only rises while the broker runs."""
    return Family(name, COUNTER, meaning)


def gauge(name: str, meaning: str) -> Family:
    """A family of what rises and falls."""
    return Family(name, GAUGE, meaning)


def labels(**values: object) -> str:
    """``{name="value",...}``, or nothing without any."""
    if not values:
        return ""
    pairs = (f'{name}="{escaped(str(value))}"' for name, value in values.items())
    return f"{{{','.join(pairs)}}}"


def exposition(family: Family) -> str:
    """The text of a family; nothing without samples."""
    if not family.lines:
        return ""
    head = f"# HELP {family.name} {family.meaning}\n# TYPE {family.name} {family.kind}"
    return "\n".join([head, *family.lines, ""])


def escaped(text: str) -> str:
    """A label's value as it stands between quotes."""
    if "\\" in text or '"' in text or "\n" in text:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text
