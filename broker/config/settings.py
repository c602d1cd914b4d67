"""What somebody has set: in a file, in the environment, on the command line.

Nothing is parsed here, and little is checked: an option that is there twice is there
twice, and the last one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.properties import parse_properties
from odradek.terminal.spelling import did_you_mean

from .options.broker_config import ALIASES, OPTIONS
from .options.error import OptionError
from .options.foreign import is_meaningless, is_refusable
from .options.security.per_listener import is_of_listener
from .secrets import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_ENVIRONMENT_PREFIXES = ("KAFKA_CFG_", "KAFKA_")
# Applications have variables like KAFKA_BROKERS: only near misses are mistakes.
_NEAR_MISS = 0.85
_CLUSTER_ID = ("CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID")  # of apache/kafka, of bitnami
_OF_SECRETS = frozenset(
    f"KAFKA_SSL_{store}_{what}"
    for store in ("KEYSTORE", "TRUSTSTORE", "KEY")
    for what in ("FILENAME", "CREDENTIALS")
) - {"KAFKA_SSL_KEY_FILENAME"}
_LEVELS_OF_IMAGE = {
    "ALL": "debug",
    "TRACE": "debug",
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warning",
    "ERROR": "error",
    "FATAL": "error",
    "OFF": "error",
}


class Setting(NamedTuple):
    """One option as somebody wrote it; ``where`` says who, for messages.

    If its text was kept elsewhere, ``written`` is what stands in its place.
    """

    where: str
    name: str
    text: str
    written: str = ""


@dataclass(frozen=True)
class Flags:
    """The options that the command line has flags for. None: not given."""

    host: str | None = None
    port: int | None = None
    data_dir: str | None = None
    durability: str | None = None
    allow_unauthenticated: bool = False
    secure: bool = False


def gather(
    config_file: Path | None,
    environment: Mapping[str, str] | None,
    pairs: Iterable[str],
    flags: Flags | None,
    notes: list[str],
) -> list[Setting]:
    """What somebody has set, unchecked; of an option the last one counts.

    Raises:
        OptionError: the file cannot be read, or a variable is misspelt.
    """
    settings = [] if config_file is None else _of_file(config_file)
    settings += _of_environment(environment or {}, notes)
    settings += map(_of_pair, pairs)
    settings += _of_flags(flags or Flags())
    return settings


def _of_file(path: Path) -> list[Setting]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise OptionError(f"cannot read {path}: {reason}") from None
    return [
        Setting(f"{path}:{entry.line}", entry.name, entry.value)
        for entry in parse_properties(text)
    ]


def _of_environment(
    environment: Mapping[str, str], notes: list[str]
) -> Iterable[Setting]:
    ignored = []
    for variable in sorted(environment):
        of_image = _of_image(variable, environment)
        if of_image is not None:
            yield of_image
            continue
        if variable in _OF_SECRETS:
            from .image_secrets import of_secrets  # for some containers

            for found in of_secrets(variable, environment):
                yield Setting(f"environment {variable}", *found)
            continue
        name = option_of_variable(variable)
        if name is None:
            continue
        if is_known(name) or variable.startswith("KAFKA_CFG_"):
            yield Setting(f"environment {variable}", name, environment[variable])
            continue
        meant = did_you_mean(name, OPTIONS, _NEAR_MISS)
        if meant is not None:
            raise OptionError(
                f"environment {variable}: there is no option {name}; did you mean "
                f"{_variable_of(meant)}?"
            )
        ignored.append(variable)
    if ignored:
        notes.append(f"no options, ignored: {', '.join(ignored)}")


def _of_image(variable: str, environment: Mapping[str, str]) -> Setting | None:
    """What a variable means that the image of Apache Kafka calls otherwise."""
    text = environment[variable]
    where = f"environment {variable}"
    if variable in _CLUSTER_ID and text.strip():
        return Setting(where, "cluster.id", text)
    level = _LEVELS_OF_IMAGE.get(text.strip().upper())
    if variable == "KAFKA_LOG4J_ROOT_LOGLEVEL" and level is not None:
        return Setting(where, "logging.level", level)
    return None


def option_of_variable(variable: str) -> str | None:
    """The option that an environment variable names; None when it names none.

    Underscores are dots, two are an underscore, three a dash.
    """
    for prefix in _ENVIRONMENT_PREFIXES:
        if variable.startswith(prefix) and len(variable) > len(prefix):
            name = variable.removeprefix(prefix).lower()
            parts = name.replace("___", "-").split("__")
            return "_".join(part.replace("_", ".") for part in parts)
    return None


def _variable_of(name: str) -> str:
    return "KAFKA_" + name.upper().replace(".", "_")


def _of_pair(pair: str) -> Setting:
    name, equals, text = pair.partition("=")
    if not equals:
        raise OptionError(f"-o {pair}: expected name=value")
    name = name.strip()
    if text.strip() and is_secret(name):
        from .looked_up import check_sight

        check_sight(name, text, _variable_of(name))
    return Setting("-o", name, text)


def _of_flags(flags: Flags) -> Iterable[Setting]:
    if flags.data_dir is not None:
        yield Setting("--data-dir", "log.dirs", flags.data_dir)
    if flags.durability is not None:
        yield Setting("--durability", "durability", flags.durability)
    if flags.allow_unauthenticated:
        yield Setting("--allow-unauthenticated", "allow.unauthenticated", "true")


def is_known(name: str) -> bool:
    """Whether there is such an option, here or in Apache Kafka."""
    return (
        name in OPTIONS
        or name in ALIASES
        or is_of_listener(name)
        or is_meaningless(name)
        or is_refusable(name)
    )
