"""A broker for tests: a real one, in a process of its own, that tests steer.

Standard library only, and nothing is loaded before it is used: the plugin for pytest
is in every run of an environment that has odradek installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .broker import Broker
    from .case import TestCase
    from .errors import (
        BadRecording,
        BadSnapshot,
        BrokerError,
        Refused,
        SharedBroker,
        WaitTimeout,
    )
    from .external import ExternalBroker
    from .golden import assert_golden
    from .plugin import factories
    from .recording import Difference, Replayed, replay
    from .records import Record
    from .snapshots import Snapshot
    from .topic import Topic, assert_records

__all__ = [
    "BadRecording",
    "BadSnapshot",
    "Broker",
    "BrokerError",
    "Difference",
    "ExternalBroker",
    "Record",
    "Refused",
    "Replayed",
    "SharedBroker",
    "Snapshot",
    "TestCase",
    "Topic",
    "WaitTimeout",
    "assert_golden",
    "assert_records",
    "factories",
    "replay",
]

_PLACES = {
    "BadRecording": "errors",
    "BadSnapshot": "errors",
    "Broker": "broker",
    "BrokerError": "errors",
    "Difference": "recording",
    "ExternalBroker": "external",
    "Record": "records",
    "Refused": "errors",
    "Replayed": "recording",
    "SharedBroker": "errors",
    "Snapshot": "snapshots",
    "TestCase": "case",
    "Topic": "topic",
    "WaitTimeout": "errors",
    "assert_golden": "golden",
    "assert_records": "topic",
    "replay": "recording",
}


def __dir__() -> list[str]:
    """What can be imported, for notebooks and shells that complete names."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "factories":  # of pytest alone
        return import_module(f"{__name__}.plugin.factories")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
