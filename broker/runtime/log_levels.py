"""The levels of the broker's loggers, shown and set under Apache Kafka's names.

A level that is set holds until the broker stops.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.config.described import ConfigSource, Described
from odradek.broker.config.dynamic_config import Operation
from odradek.broker.config.options.option import Kind
from odradek.protocol.errors import InvalidConfig, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from odradek.broker.config.dynamic_config import Alteration

ROOT = "root"
_MEANING = "The least important lines of this part of the broker that are logged."
_LEVELS = {
    "TRACE": logging.DEBUG // 2,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


_NAMES = ", ".join(sorted(_LEVELS))


def describe_loggers() -> list[Described]:
    """Every logger that there is by now, with the level that holds for it."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return [
        Described(name, level_of(name), source, False, Kind.UNKNOWN, (), _MEANING)
        for name in sorted(_names())
    ]


def level_of(name: str) -> str:
    """The name of the level that holds for a logger."""
    effective = logging.getLogger(_own_name(name)).getEffectiveLevel()
    return next(
        (level for level, number in _LEVELS.items() if number >= effective), "FATAL"
    )


def check_levels(alterations: Sequence[Alteration]) -> None:
    """See that these levels can be set.

    Raises:
        InvalidConfig: a logger or a level does not exist.
        InvalidRequest: an operation that makes no sense for levels.
    """
    known = set(_names())
    for name, operation, value in alterations:
        if name not in known:
            raise InvalidConfig(f"Logger {name} does not exist!")
        if operation == Operation.DELETE:
            if name == ROOT:
                raise InvalidRequest(
                    "Removing the log level of the root logger is not allowed"
                )
        elif operation != Operation.SET:
            raise InvalidRequest(
                f"{Operation(operation).name} operation is not allowed for the "
                "BROKER_LOGGER resource"
            )
        elif value not in _LEVELS:
            raise InvalidConfig(
                f"Cannot set the log level of {name} to {value} as it is not a "
                f"supported log level. Valid log levels are {_NAMES}"
            )


def set_levels(alterations: Iterable[Alteration]) -> None:
    """Set levels that have been checked; a deleted one is that of its parent again."""
    for name, operation, value in alterations:
        level = logging.NOTSET
        if operation == Operation.SET:
            level = _LEVELS[value or ""]
        logging.getLogger(_own_name(name)).setLevel(level)


def _names() -> Iterable[str]:
    yield ROOT
    yield from logging.root.manager.loggerDict


def _own_name(name: str) -> str | None:
    return None if name == ROOT else name
