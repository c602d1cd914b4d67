"""Options with their values, as DescribeConfigs and CreateTopics answer them."""

from __future__ import annotations

from enum import IntEnum
from itertools import dropwhile
from typing import TYPE_CHECKING, Final, NamedTuple

from .listener_options import find_listener_option
from .options.broker_config import ALIASES, OPTIONS, BrokerConfig
from .options.foreign import is_dynamic, meaning_of
from .options.foreign_table import foreign_table
from .options.member import COPIES_IN_CLUSTER
from .options.option import Kind, Option, format_value
from .topic_config import TOPIC_OPTIONS, TopicOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Dynamic options that Apache Kafka does not list either: only set ones are seen.
_UNLISTED = frozenset(
    {
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
# What is set for all brokers unless somebody has changed it, as in a cluster that is
# new to Apache Kafka 4.3 (KIP-966): clients compare where the value comes from.
SET_EVERYWHERE: Final = {"min.insync.replicas": "1"}
# Options of the broker that others stand in for.
_STAND_INS = {
    "log.flush.interval.ms": ("log.flush.scheduler.interval.ms",),
    "log.retention.minutes": ("log.retention.hours",),
    "log.retention.ms": ("log.retention.minutes", "log.retention.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.hours",),
    "log.roll.ms": ("log.roll.hours",),
}


class ConfigSource(IntEnum):
    """Where a value comes from, numbered as on the wire (KIP-226)."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


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
    synonyms: Sequence[Synonym]
    meaning: str
    is_sensitive: bool = False


def describe_topic(options: Mapping[str, str], broker: BrokerConfig) -> list[Described]:
    """Every option of a topic that clients are shown, by name."""
    return [
        _describe_of_topic(entry, options.get(name), broker)
        for name, entry in TOPIC_OPTIONS.items()
        if not entry.is_hidden
    ]


def describe_broker(broker: BrokerConfig) -> list[Described]:
    """Every option of the broker, and of Apache Kafka's brokers, by name."""
    names = {*OPTIONS, *ALIASES, *foreign_table()} - (_UNLISTED - _set_names(broker))
    names.update(broker.of_listeners)
    return [_describe_of_broker(name, broker) for name in sorted(names)]


def describe_every_broker(broker: BrokerConfig) -> list[Described]:
    """The options that are set for all brokers, mostly while this one ran."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return [
        _describe_of_broker(name, broker)._replace(
            value=value, source=source, synonyms=[Synonym(name, value, source)]
        )
        for name, value in sorted(_everywhere(broker).items())
    ]


def synonyms_of(names: Sequence[str], broker: BrokerConfig) -> list[Synonym]:
    """Where the value of the first option could come from, the strongest first.

    Those after it stand in for it: one in hours, say. Their defaults count only
    behind a value of its own.
    """
    found = [
        each for layer in _LAYERS for name in names for each in layer(name, broker)
    ]
    own = list(dropwhile(lambda each: each.name != names[0], found))
    return own or [
        each for each in found if each.source is not ConfigSource.DEFAULT_CONFIG
    ]


def _describe_of_topic(
    entry: TopicOption, own: str | None, broker: BrokerConfig
) -> Described:
    known = entry.known
    synonyms = synonyms_of(entry.synonyms, broker) if entry.synonyms else []
    value = format_value(entry.default(broker))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    if own is not None:
        value, source = own, ConfigSource.DYNAMIC_TOPIC_CONFIG
        synonyms.insert(0, Synonym(known.name, own, source))
    return Described(
        known.name, value, source, False, known.kind, synonyms, known.full_meaning
    )


def _describe_of_broker(name: str, broker: BrokerConfig) -> Described:
    known = _known(name, broker)
    stand_ins = _STAND_INS.get(name, ())
    if name in broker.of_listeners:
        stand_ins = (known.name,)
    synonyms = synonyms_of((name, *stand_ins), broker)
    is_secret = known.is_sensitive
    if is_secret:
        synonyms = [each._replace(value=None) for each in synonyms]
    if name in OPTIONS:
        value = format_value(getattr(broker, OPTIONS[name][0]))
        meaning, can_change = known.full_meaning, known.is_dynamic
    elif name in ALIASES:
        value = format_value(getattr(broker, OPTIONS[ALIASES[name]][0]))
        meaning, can_change = f"Another name of {known.name}.", known.is_dynamic
    elif name in broker.of_listeners:
        value = format_value(broker.of_listeners[name])
        meaning, can_change = known.full_meaning, known.is_dynamic
    else:
        value = broker.foreign.get(name, known.default)
        meaning, can_change = meaning_of(name), is_dynamic(name)
    source = ConfigSource.DEFAULT_CONFIG
    if synonyms and synonyms[0].name == name:
        source = synonyms[0].source
    if source is ConfigSource.DEFAULT_CONFIG and _is_other_in_cluster(name, broker):
        value = format_value(COPIES_IN_CLUSTER[name])
    return Described(
        name,
        None if is_secret else value,
        source,
        not can_change,
        known.kind,
        synonyms,
        meaning,
        is_secret,
    )


def _known(name: str, broker: BrokerConfig) -> Option:
    if name in broker.of_listeners:
        found = find_listener_option(name, broker)
        assert found is not None, name
        return found.known
    own = ALIASES.get(name, name)
    return OPTIONS[own][1] if own in OPTIONS else foreign_table()[name]


# Each layer: the synonyms that an option of the broker has there, at most one.


def _changed_here(name: str, broker: BrokerConfig) -> Iterator[Synonym]:
    if broker.changes is not None and name in broker.changes.here:
        value = broker.changes.here[name]
        yield Synonym(name, value, ConfigSource.DYNAMIC_BROKER_CONFIG)


def _changed_everywhere(name: str, broker: BrokerConfig) -> Iterator[Synonym]:
    value = _everywhere(broker).get(name)
    if value is not None:
        yield Synonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)


def _set_names(broker: BrokerConfig) -> set[str]:
    names = {*broker.explicit, *broker.foreign}
    if broker.changes is not None:
        names |= {*broker.changes.here, *broker.changes.everywhere}
    return names


def _everywhere(broker: BrokerConfig) -> Mapping[str, str]:
    if broker.changes is None:
        return SET_EVERYWHERE
    return {**SET_EVERYWHERE, **broker.changes.everywhere}


def _set_at_start(name: str, broker: BrokerConfig) -> Iterator[Synonym]:
    static = broker if broker.changes is None else broker.changes.static
    own = ALIASES.get(name, name)
    if own in static.explicit:
        value = format_value(getattr(static, OPTIONS[own][0]))
    elif name in static.foreign:
        value = static.foreign[name]
    elif name in static.of_listeners:
        value = format_value(static.of_listeners[name])
    else:
        return
    yield Synonym(name, value, ConfigSource.STATIC_BROKER_CONFIG)


def _by_default(name: str, broker: BrokerConfig) -> Iterator[Synonym]:
    default = _known(name, broker).default
    if _is_other_in_cluster(name, broker):
        default = COPIES_IN_CLUSTER[name]
    if default is not None and name not in broker.of_listeners:
        default = format_value(default)
        yield Synonym(name, default, ConfigSource.DEFAULT_CONFIG)


def _is_other_in_cluster(name: str, broker: BrokerConfig) -> bool:
    return broker.is_member and name in COPIES_IN_CLUSTER


_LAYERS: tuple[Callable[[str, BrokerConfig], Iterable[Synonym]], ...] = (
    _changed_here,
    _changed_everywhere,
    _set_at_start,
    _by_default,
)
