"""The options of a group of consumers, of a share group or of a streams group.

An option that a group does not set has the value of the broker's option behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidConfig
from odradek.terminal.spelling import did_you_mean

from .described import ConfigSource, Described, Synonym, synonyms_of
from .options.broker_config import OPTIONS
from .options.error import OptionError
from .options.foreign_table import foreign_table
from .options.option import Kind, Option, format_value
from .text.offset_reset import parse_offset_reset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .options.broker_config import BrokerConfig


class GroupOption(NamedTuple):
    """One option; ``bounded`` names the broker's options that bound it, as in ``min``.

    ``synonym`` is the broker's option behind it, if there is one.
    """

    known: Option
    synonym: str | None
    bounds: tuple[tuple[str, int], ...] = ()


_AT_LEAST, _AT_MOST = -1, 1


def _of(prefix: str, name: str, meaning: str, *bounds: str) -> GroupOption:
    """A number, which the broker has too and may bound."""
    signs = {"min": _AT_LEAST, "max": _AT_MOST}
    return GroupOption(
        Option(f"{prefix}.{name}", Kind.INT, None, meaning),
        f"group.{prefix}.{name}",
        tuple((f"group.{prefix}.{bound}.{name}", signs[bound]) for bound in bounds),
    )


def _offset_reset(text: str) -> str:
    parse_offset_reset(text)
    return text


def _plain(known: Option) -> GroupOption:
    return GroupOption(known, None)


_BOTH = ("min", "max")
_ASSIGNMENT = "Least time between two assignments of the group."
_HEARTBEAT = "How often the members are to say that they live."
_SESSION = "A member that says nothing for so long is out."

_TABLE = (
    _of("consumer", "assignment.interval.ms", _ASSIGNMENT, *_BOTH),
    _of("consumer", "heartbeat.interval.ms", _HEARTBEAT, *_BOTH),
    _of("consumer", "session.timeout.ms", _SESSION, *_BOTH),
    _of("share", "assignment.interval.ms", _ASSIGNMENT, *_BOTH),
    _plain(
        Option(
            "share.auto.offset.reset",
            Kind.STRING,
            "latest",
            "Where the group begins: latest, earliest, or by_duration:<ISO 8601>.",
            read=_offset_reset,
        )
    ),
    _of("share", "delivery.count.limit", "How often a record is tried.", *_BOTH),
    _of("share", "heartbeat.interval.ms", _HEARTBEAT, *_BOTH),
    _plain(
        Option(
            "share.isolation.level",
            Kind.STRING,
            "read_uncommitted",
            "Whether records of open and aborted transactions are delivered.",
            choices=("read_committed", "read_uncommitted"),
        )
    ),
    _of("share", "partition.max.record.locks", "Most records locked at once.", *_BOTH),
    _of("share", "record.lock.duration.ms", "How long a lock is held.", *_BOTH),
    _plain(
        Option(
            "share.renew.acknowledge.enable",
            Kind.BOOLEAN,
            True,
            "Whether a consumer may hold a lock for longer.",
        )
    ),
    _of("share", "session.timeout.ms", _SESSION, *_BOTH),
    _of("streams", "assignment.interval.ms", _ASSIGNMENT, *_BOTH),
    _of("streams", "heartbeat.interval.ms", _HEARTBEAT, *_BOTH),
    _of(
        "streams",
        "initial.rebalance.delay.ms",
        "How long a new group waits for more members.",
    ),
    GroupOption(
        Option(
            "streams.num.standby.replicas", Kind.INT, None, "Copies of a task's state."
        ),
        "group.streams.num.standby.replicas",
        (("group.streams.max.standby.replicas", _AT_MOST),),
    ),
    _of("streams", "session.timeout.ms", _SESSION, *_BOTH),
)
GROUP_OPTIONS: dict[str, GroupOption] = {entry.known.name: entry for entry in _TABLE}
"""Every option of a group by its name, in the order in which they are listed."""


def find_group_option(name: str) -> Option:
    """The option of that name.

    Raises:
        InvalidConfig: there is none.
    """
    return _entry(name).known


def group_default(name: str, broker: BrokerConfig) -> object:
    """The value of an option that the group does not set."""
    entry = _entry(name)
    if entry.synonym is None:
        return entry.known.default
    return _number(entry.synonym, broker)


def validate_group_options(options: Mapping[str, str], broker: BrokerConfig) -> None:
    """See that a group can have ``options``.

    Raises:
        InvalidConfig: one does not exist or has a value that it cannot have.
    """
    values: dict[str, object] = {}
    for name, text in options.items():
        entry = _entry(name)
        try:
            value = values[name] = entry.known.parse(text)
        except OptionError as error:
            raise InvalidConfig(str(error)) from None
        for bound, sign in entry.bounds:
            if (value - _number(bound, broker)) * sign > 0:
                than = "greater" if sign == _AT_LEAST else "less"
                raise InvalidConfig(f"{name} must be {than} than or equal to {bound}")
        if entry.known.kind is Kind.INT and value < 0:
            raise InvalidConfig(f"{name} must not be negative")


def describe_group(options: Mapping[str, str], broker: BrokerConfig) -> list[Described]:
    """Every option of a group, by name."""
    return [
        _describe(name, entry, options.get(name), broker)
        for name, entry in GROUP_OPTIONS.items()
    ]


def _describe(
    name: str, entry: GroupOption, own: str | None, broker: BrokerConfig
) -> Described:
    value = format_value(group_default(name, broker))
    default = ConfigSource.DEFAULT_CONFIG
    if entry.synonym is None:
        synonyms = [Synonym(name, value, default)]
    else:
        synonyms = synonyms_of((entry.synonym,), broker)
    if own is not None:
        value = own
        synonyms.insert(0, Synonym(name, own, ConfigSource.GROUP_CONFIG))
    return Described(
        name,
        value,
        synonyms[0].source,
        False,
        entry.known.kind,
        synonyms,
        entry.known.full_meaning,
    )


def _entry(name: str) -> GroupOption:
    if name not in GROUP_OPTIONS:
        meant = did_you_mean(name, GROUP_OPTIONS)
        hint = f"; did you mean {meant}?" if meant else ""
        raise InvalidConfig(f"Unknown group config name: {name}{hint}")
    return GROUP_OPTIONS[name]


def _number(name: str, broker: BrokerConfig) -> int:
    """The value of one of the broker's options, ours or Apache Kafka's."""
    if name in OPTIONS:
        return int(getattr(broker, OPTIONS[name][0]))
    return int(broker.foreign.get(name) or foreign_table()[name].default)
