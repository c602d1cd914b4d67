"""What a broker for tests is started with, besides what only its process knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .security import Security

DEFAULTS = {
    "durability": "none",
    "group.initial.rebalance.delay.ms": "0",
    "log.min.free.bytes": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
# What no test sets: where a broker has its data, and that it obeys and ends with us.
OURS = frozenset(
    {"log.dir", "log.dirs", "metadata.log.dir", "exit.with.process", "test.control"}
)
# Of these a broker takes nothing from its command line, which all on a machine see.
_SECRET_WORDS = (
    "password",
    "secret",
    "jaas",
    "credential",
    "private",
    "token",
    ".key",
    "store.cert",
)


def secured_by(
    protocol: str | None,
    users: Mapping[str, str] | None,
    acl: bool,
    config: Mapping[str, str],
) -> Security:
    """What a broker asks of its clients, besides what ``config`` says.

    Raises:
        ValueError: that makes no sense.
    """
    from .security import PROTOCOLS, Security

    if protocol is None:
        known = ", ".join(f'"{each}"' for each in PROTOCOLS[1:])
        raise ValueError(f"users and acl need logins: set security to one of {known}")
    if "listeners" in config:
        raise ValueError(
            f'security="{protocol}" makes the listener: leave listeners out of the '
            "options, or set all that is of security there, too"
        )
    return Security(protocol, users, acl)


def broker_options(config: Mapping[str, Any] | None, data_dir: Path) -> dict[str, str]:
    """What a broker for tests is started with.

    Raises:
        ValueError: these are no options, or not for a test to set.
    """
    given = texts(config)
    for name in OURS & given.keys():
        raise ValueError(f"{name} is the kit's own to set: a test cannot")
    return DEFAULTS | given | {"log.dirs": str(data_dir)}


def texts(config: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as a broker takes them.

    Raises:
        ValueError: these are none.
    """
    if not hasattr(config, "items") and config is not None:
        raise ValueError(f"options are a dict of names and values, not {config!r}")
    return {name: _text(value) for name, value in (config or {}).items()}


def variables(options: Mapping[str, str]) -> dict[str, str]:
    """Those that are secret, or may be: as a broker takes them from its environment."""
    return {
        f"KAFKA_CFG_{_variable(name)}": value
        for name, value in options.items()
        if any(word in name for word in _SECRET_WORDS)
    }


def words(options: Mapping[str, str]) -> list[str]:
    """The others, for the command line."""
    shown = {
        name: value for name, value in options.items() if not variables({name: value})
    }
    return [word for name, value in shown.items() for word in ("-o", f"{name}={value}")]


def _variable(name: str) -> str:
    """Dots are underscores there, an underscore is two, a dash three."""
    return name.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
