"""Options with their values, as DescribeConfigs and CreateTopics answer them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from .broker_config import OPTIONS, BrokerConfig
from .option import Kind, format_value
from .topic_config import TOPIC_OPTIONS, TopicOption

if TYPE_CHECKING:
    from collections.abc import Mapping


class ConfigSource(IntEnum):
    """Where a value comes from, numbered as on the wire (KIP-226)."""

    DYNAMIC_TOPIC_CONFIG = 1
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


class Synonym(NamedTuple):
    """A place where a value could come from."""

    name: str
    value: str | None
    source: ConfigSource


class Described(NamedTuple):
    """One option: its value, where that comes from, and what else it could be."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    kind: Kind
    synonyms: list[Synonym]
    meaning: str


def describe_topic(options: Mapping[str, str], broker: BrokerConfig) -> list[Described]:
    """Every option of a topic that clients are shown, by name."""
    return [
        _describe_option(entry, options.get(name), broker)
        for name, entry in TOPIC_OPTIONS.items()
        if not entry.is_hidden
    ]


def describe_broker(broker: BrokerConfig) -> list[Described]:
    """Every option of the broker, by name. They need a restart to change."""
    described = []
    for name in sorted(OPTIONS):
        synonyms = _of_broker(name, broker)
        source = ConfigSource.DEFAULT_CONFIG
        if name in broker.explicit:
            source = ConfigSource.STATIC_BROKER_CONFIG
        field, known = OPTIONS[name]
        value = format_value(getattr(broker, field))
        described.append(
            Described(
                name, value, source, True, known.kind, synonyms, known.full_meaning
            )
        )
    return described


def _describe_option(
    entry: TopicOption, own: str | None, broker: BrokerConfig
) -> Described:
    known = entry.known
    synonyms = [
        synonym for name in entry.synonyms for synonym in _of_broker(name, broker)
    ]
    if len(entry.synonyms) > 1:
        # One in milliseconds, one in hours: their values are not this option's, so
        # they are shown only where somebody has set one (as Apache Kafka does).
        synonyms = [s for s in synonyms if s.source != ConfigSource.DEFAULT_CONFIG]
    elif entry.synonyms and entry.synonyms[0] not in OPTIONS:
        default = format_value(known.default)
        synonyms = [Synonym(entry.synonyms[0], default, ConfigSource.DEFAULT_CONFIG)]
    value = format_value(entry.default(broker))
    source = ConfigSource.DEFAULT_CONFIG
    if synonyms:
        source = synonyms[0].source
    if own is not None:
        value, source = own, ConfigSource.DYNAMIC_TOPIC_CONFIG
        synonyms.insert(0, Synonym(known.name, own, source))
    return Described(
        known.name, value, source, False, known.kind, synonyms, known.full_meaning
    )


def _of_broker(name: str, broker: BrokerConfig) -> list[Synonym]:
    """The value that the broker's option was given, and its default."""
    if name not in OPTIONS:
        return []
    field, known = OPTIONS[name]
    synonyms = []
    value = format_value(getattr(broker, field))
    if name in broker.explicit:
        synonyms.append(Synonym(name, value, ConfigSource.STATIC_BROKER_CONFIG))
    if known.default is not None:
        default = format_value(known.default)
        synonyms.append(Synonym(name, default, ConfigSource.DEFAULT_CONFIG))
    return synonyms
