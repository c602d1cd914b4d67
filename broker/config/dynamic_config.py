"""Changing options while the broker runs: what a request makes of those that are set.

Decisions are pure: they get the options that are set and return those that will be.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidConfig, InvalidRequest

from .options.option import Kind, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .options.option import Option

    Find = Callable[[str], Option]


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


def check_alterations(alterations: Sequence[Alteration], find: Find) -> None:
    """See that alterations make sense, whatever the options are now.

    ``find`` gives the option of a name, or raises what says that there is none.

    Raises:
        InvalidRequest: an operation that does not exist, one option twice, or no
            value where one is needed.
        InvalidConfig: APPEND or SUBTRACT on an option that is no list.
    """
    _check_names(alteration.name for alteration in alterations)
    for name, operation, value in alterations:
        if operation not in frozenset(Operation):
            raise InvalidRequest(
                f"Unknown operation {operation} for {name}: it can be 0 (set), "
                "1 (delete), 2 (append) or 3 (subtract)"
            )
        if operation != Operation.DELETE and value is None:
            raise InvalidRequest(
                f"Null value not supported for : {name}; delete it instead"
            )
        if operation >= Operation.APPEND and find(name).kind != Kind.LIST:
            raise InvalidConfig(
                f"Can't {Operation(operation).name} to key {name} because its type is "
                "not LIST."
            )


def altered(
    options: Mapping[str, str],
    alterations: Sequence[Alteration],
    default: Callable[[str], object],
) -> dict[str, str]:
    """The options that are set after ``alterations``; the values are not checked yet.

    ``default`` gives the value of an option that is not set: what is appended to.
    """
    result = dict(options)
    for name, operation, value in alterations:
        if operation == Operation.DELETE:
            result.pop(name, None)
            continue
        assert value is not None, name
        if operation == Operation.SET:
            result[name] = value
            continue
        current = result.get(name)
        if current is None:
            current = format_value(default(name)) or ""
        result[name] = _list_after(current, operation, value)
    return result


def replacing(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The options that AlterConfigs puts in the place of all that were set.

    Raises:
        InvalidRequest: one option twice, or without a value.
    """
    pairs = list(pairs)
    _check_names(name for name, _ in pairs)
    options = {}
    for name, value in pairs:
        if value is None:
            raise InvalidRequest(f"Null value not supported for : {name}")
        options[name] = value
    return options


def _check_names(names: Iterable[str]) -> None:
    names = list(names)
    if len(set(names)) != len(names):
        raise InvalidRequest("Error due to duplicate config keys")
    if "" in names:
        raise InvalidRequest("A config name is needed")


def _list_after(current: str, operation: int, value: str) -> str:
    """A list with entries added or taken away."""
    entries, changed = _entries(current), _entries(value)
    if operation == Operation.APPEND:
        entries += [entry for entry in changed if entry not in entries]
    else:
        entries = [entry for entry in entries if entry not in changed]
    return ",".join(entries)


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]
