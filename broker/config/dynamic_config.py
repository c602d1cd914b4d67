"""Changing options while the broker runs: what a request makes of a topic's options.

Decisions are pure: they get the options that are set and return those that will be.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import InvalidConfig, InvalidRequest

from .option import Kind, format_value
from .topic_config import TOPIC_OPTIONS, TopicOption, unknown_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .broker_config import BrokerConfig


class Operation(IntEnum):
    """What IncrementalAlterConfigs does with one option (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    """One option to change; ``operation`` is the number the client sent."""

    name: str
    operation: int
    value: str | None


def check_alterations(alterations: Sequence[Alteration]) -> None:
    """See that alterations make sense, whatever the options are now.

    Raises:
        InvalidRequest: an operation that does not exist, one option twice, or no
            value where one is needed.
        InvalidConfig: APPEND or SUBTRACT on an option that is no list.
    """
    names = [alteration.name for alteration in alterations]
    if len(set(names)) != len(names):
        raise InvalidRequest("Error due to duplicate config keys")
    for name, operation, value in alterations:
        if not name:
            raise InvalidRequest("A config name is needed")
        if operation not in frozenset(Operation):
            raise InvalidRequest(
                f"Unknown operation {operation} for {name}: it can be 0 (set), "
                "1 (delete), 2 (append) or 3 (subtract)"
            )
        if operation != Operation.DELETE and value is None:
            raise InvalidRequest(
                f"Null value not supported for : {name}; delete it instead"
            )
        if operation >= Operation.APPEND and _known(name).known.kind != Kind.LIST:
            raise InvalidConfig(
                f"Can't {Operation(operation).name} to key {name} because its type is "
                "not LIST."
            )


def altered(
    options: Mapping[str, str],
    alterations: Sequence[Alteration],
    broker: BrokerConfig,
) -> dict[str, str]:
    """The options of a topic after ``alterations``; the values are not yet checked."""
    result = dict(options)
    for name, operation, value in alterations:
        if operation == Operation.DELETE:
            result.pop(name, None)
            continue
        assert value is not None, name
        if operation == Operation.SET:
            result[name] = value
        else:
            result[name] = _list_after(result.get(name), name, operation, value, broker)
    return result


def _list_after(
    current: str | None,
    name: str,
    operation: int,
    value: str,
    broker: BrokerConfig,
) -> str:
    """A list with entries added or taken away; it starts from the broker's value."""
    if current is None:
        current = format_value(_known(name).default(broker)) or ""
    entries = _entries(current)
    changed = _entries(value)
    if operation == Operation.APPEND:
        entries += [entry for entry in changed if entry not in entries]
    else:
        entries = [entry for entry in entries if entry not in changed]
    return ",".join(entries)


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _known(name: str) -> TopicOption:
    if name not in TOPIC_OPTIONS:
        raise unknown_option(name)
    return TOPIC_OPTIONS[name]
