"""What is told of logins: who got in, who did not, who did so once more or too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exposition import Family, counter, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.broker.security.login.logins import Logins


def login_families(all_logins: Iterable[Logins]) -> Iterator[Family]:
    """Of each listener that has them, by mechanism."""
    made = counter(
        "odradek_logins_total",
        "Logins that were accepted, refused, or made again on the same connection.",
    )
    ended = counter(
        "odradek_logins_ended_total",
        "Connections that were closed as their login had ended.",
    )
    for logins in all_logins:
        name, counts = logins.listener.name, logins.counts
        for outcome, by_mechanism in (
            ("accepted", counts.successes),
            ("refused", counts.failures),
            ("again", counts.again),
        ):
            for mechanism in logins.mechanisms:
                of_it = labels(listener=name, mechanism=mechanism, outcome=outcome)
                made.add(by_mechanism[mechanism], of_it)
        # Of no mechanism, or of one that is not there.
        nameless = labels(listener=name, mechanism="", outcome="refused")
        made.add(counts.failures[""], nameless)
        ended.add(counts.expired, labels(listener=name))
    yield from (made, ended)
