"""What was refused, in the audit log: equal ones once a minute, with their count.

Names are the client's: they are shortened, and nothing in them steers a terminal.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.acls import Operation, ResourceType

if TYPE_CHECKING:
    from odradek.broker.runtime.clock import Clock

    from .access import Access

INTERVAL_MS = 60_000
KNOWN_MAX = 1_000
TEXT_MAX = 256

_logger = logging.getLogger("odradek.audit")


class Denial(NamedTuple):
    """Who was refused what, from where, in a request of which API."""

    principal: str
    host: str
    operation: int
    resource_type: int
    resource_name: str
    api: str


class Denials:
    """Writes each denial at once, and the next ones like it when a minute is over."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        self._clock = clock
        self._again: Counter[Denial] = Counter()
        self._told: dict[Denial, str] = {}

    def note(self, access: Access, denial: Denial) -> None:
        """Something was refused; ``access`` says by which rule."""
        self.count += 1
        if denial in self._told:
            self._again[denial] += 1
            return
        rule = str(
            access.rule(denial.operation, denial.resource_type, denial.resource_name)
        )
        _write(denial, rule, 1)
        if len(self._told) >= KNOWN_MAX:
            return
        if not self._told:
            self._clock.call_later(INTERVAL_MS, self._tell_again)
        self._told[denial] = rule

    def _tell_again(self) -> None:
        told, again = self._told, self._again
        self._told, self._again = {}, Counter()
        for denial, count in again.items():
            _write(denial, told[denial], count)


def _write(denial: Denial, rule: str, count: int) -> None:
    resource = (
        f"{ResourceType(denial.resource_type).name}:{_short(denial.resource_name)}"
    )
    operation = Operation(denial.operation).name
    extra: dict[str, Any] = {
        "principal": _short(denial.principal),
        "address": denial.host,
        "operation": operation,
        "resource": resource,
        "api": denial.api,
        "rule": _short(rule),
        "count": count,
    }
    _logger.info(
        "%s by %s at %s denied: %s on %s, by %s%s",
        denial.api,
        extra["principal"],
        denial.host,
        operation,
        resource,
        extra["rule"],
        f" ({count} times since the last line)" if count > 1 else "",
        extra=extra,
    )


def _short(text: str) -> str:
    if len(text) > TEXT_MAX:
        text = f"{text[:TEXT_MAX]}…"
    return text if text.isprintable() else repr(text)[1:-1]
