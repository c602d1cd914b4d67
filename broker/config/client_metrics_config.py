"""The options of a subscription to the metrics of clients (KIP-714)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.text.pattern import Pattern, compile_pattern
from odradek.protocol.errors import (
    InvalidConfig,
    InvalidRegularExpression,
    InvalidRequest,
)

from .described import ConfigSource, Described, Synonym
from .options.error import OptionError
from .options.option import Kind, Option, format_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INTERVAL_MS = "interval.ms"
INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 3_600_000
MATCH = "match"
METRICS = "metrics"
ALL_METRICS = "*"

SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What a subscription can ask of a client, each by a regular expression."""

CLIENT_METRICS_OPTIONS: dict[str, Option] = {
    known.name: known
    for known in (
        Option(INTERVAL_MS, Kind.INT, 300_000, "How often a client sends them."),
        Option(
            MATCH,
            Kind.LIST,
            (),
            "Which clients: selector=regular expression. Empty: all.",
        ),
        Option(
            METRICS,
            Kind.LIST,
            (),
            "Which metrics: beginnings of their names; *: all. Empty: none.",
        ),
    )
}


class Subscription(NamedTuple):
    """A subscription as it is matched with clients."""

    name: str
    interval_ms: int
    metrics: tuple[str, ...]
    match: tuple[tuple[str, Pattern], ...]

    def matches(self, client: Mapping[str, str]) -> bool:
        """Whether a client with these selectors is asked."""
        return all(
            pattern.fullmatch(client.get(selector, ""))
            for selector, pattern in self.match
        )


def find_client_metrics_option(name: str) -> Option:
    """The option of that name.

    Raises:
        InvalidRequest: there is none.
    """
    known = CLIENT_METRICS_OPTIONS.get(name)
    if known is None:
        raise InvalidRequest(f"Unknown client metrics configuration: {name}")
    return known


def subscription(name: str, options: Mapping[str, str]) -> Subscription:
    """The subscription of that name with ``options``.

    Raises:
        InvalidRequest: an option that does not exist, or an interval out of bounds.
        InvalidConfig: a value that its option cannot have.
    """
    values = {key: known.default for key, known in CLIENT_METRICS_OPTIONS.items()}
    for key, text in options.items():
        try:
            values[key] = find_client_metrics_option(key).parse(text)
        except OptionError as error:
            raise InvalidConfig(str(error)) from None
    interval_ms = values[INTERVAL_MS]
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        raise InvalidRequest(
            f"Invalid value {interval_ms} for {INTERVAL_MS}, interval must be between "
            f"{INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)"
        )
    return Subscription(
        name, interval_ms, values[METRICS], tuple(_selectors(values[MATCH]))
    )


def describe_client_metrics(options: Mapping[str, str]) -> list[Described]:
    """Every option of a subscription, by name."""
    described = []
    for name, known in CLIENT_METRICS_OPTIONS.items():
        value, source = format_value(known.default), ConfigSource.DEFAULT_CONFIG
        synonyms = []
        if name in options:
            value, source = options[name], ConfigSource.CLIENT_METRICS_CONFIG
            synonyms = [Synonym(name, value, source)]
        described.append(
            Described(name, value, source, False, known.kind, synonyms, known.meaning)
        )
    return described


def _selectors(entries: Iterable[str]) -> Iterable[tuple[str, Pattern]]:
    for entry in entries:
        selector, equals, pattern = entry.partition("=")
        try:
            compiled = compile_pattern(pattern)
        except InvalidRegularExpression:
            compiled = None
        if not equals or selector.strip() not in SELECTORS or compiled is None:
            raise InvalidConfig(f"Illegal client matching pattern: {entry}")
        yield selector.strip(), compiled
