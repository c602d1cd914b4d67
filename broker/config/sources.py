"""Where options come from: a file, the environment, the command line.

Each is stronger than the one before; the defaults are the weakest. A name that
nobody knows stops the start, with the one that was probably meant: a misspelt
option would otherwise be a default that nobody wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.properties import parse_properties
from odradek.terminal.spelling import did_you_mean

from .listener_options import find_listener_option, is_of_listener
from .options.broker_config import ALIASES, OPTIONS, BrokerConfig
from .options.error import OptionError
from .options.foreign import is_meaningless, is_refusable, why_refused
from .options.security import SecurityOptions
from .secrets import is_secret, shown
from .sole_member import why_not_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .options.listener import Listener
    from .options.option import Option

PROVIDERS = "config.providers"
_ENVIRONMENT_PREFIXES = ("KAFKA_CFG_", "KAFKA_")
# Applications have variables like KAFKA_BROKERS: only near misses are mistakes.
_NEAR_MISS = 0.85
_CLUSTER_ID = ("CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID")  # of apache/kafka, of bitnami
_SECURE = "ODRADEK_SECURE"
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


class Loaded(NamedTuple):
    """The options, and what the log should say about how they were found."""

    config: BrokerConfig
    notes: list[str]


def load(
    config_file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    pairs: Iterable[str] = (),
    flags: Flags | None = None,
) -> Loaded:
    """The options of all sources, checked.

    Raises:
        OptionError: a name is unknown, a value is not possible, or two options
            contradict each other. The message is one line.
    """
    notes: list[str] = []
    flags, environment = flags or Flags(), environment or {}
    settings = gather(config_file, environment, pairs, flags, notes)
    settings = _looked_up(settings, environment)
    is_secure = is_to_be_secure(environment, flags)
    if is_secure:
        from .secure_defaults import secure_settings

        set_by_name = {ALIASES.get(x.name, x.name): x.text for x in settings}
        beneath = secure_settings(set_by_name, environment)
        settings = [*(Setting("--secure", *each) for each in beneath), *settings]
    values, others = _parsed(settings)
    values.update(_listeners_by_flags(values, flags))
    fields = {OPTIONS[name][0]: value for name, value in values.items()}
    of_listeners, meaningless = _of_listeners(others, BrokerConfig(**fields))
    unheard = [each for each in meaningless if not each.startswith(PROVIDERS)]
    if unheard:
        names = ", ".join(sorted(unheard))
        notes.append(f"accepted, but they mean nothing here: {names}")
    unused = sorted(name for name in values if not OPTIONS[name][1].is_used)
    if unused:
        notes.append(f"accepted, but they change nothing yet: {', '.join(unused)}")
    config = BrokerConfig(
        **fields,
        explicit=frozenset(values),
        foreign=meaningless,
        of_listeners=of_listeners,
    )
    config.check()
    _check_alone(config, settings)
    if is_secure:
        from .secure_defaults import check_secure

        check_secure(config)
    notes += _warnings(config)
    return Loaded(config, notes)


def is_to_be_secure(environment: Mapping[str, str], flags: Flags) -> bool:
    """Whether somebody has said so, by --secure or in the environment.

    Raises:
        OptionError: nobody knows what the environment says.
    """
    if flags.secure or _SECURE not in environment:
        return flags.secure
    from .secure_defaults import wants_security  # few brokers are asked to be

    return wants_security(environment[_SECURE])


def _check_alone(config: BrokerConfig, settings: Iterable[Setting]) -> None:
    refusal = why_not_alone(config)
    if refusal is not None:
        where, name, text, _ = [x for x in settings if x.name == refusal.name][-1]
        raise OptionError(f"{where}: {name}={text} is refused: {refusal.reason}")


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
        if _is_known(name) or variable.startswith("KAFKA_CFG_"):
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


def _looked_up(
    settings: list[Setting], environment: Mapping[str, str]
) -> list[Setting]:
    """The settings with what is kept elsewhere in its place; mostly nothing is."""
    if not any(each.name == PROVIDERS or "${" in each.text for each in settings):
        return settings
    from .looked_up import looked_up

    return looked_up(settings, environment)


def _of_flags(flags: Flags) -> Iterable[Setting]:
    if flags.data_dir is not None:
        yield Setting("--data-dir", "log.dirs", flags.data_dir)
    if flags.durability is not None:
        yield Setting("--durability", "durability", flags.durability)
    if flags.allow_unauthenticated:
        yield Setting("--allow-unauthenticated", "allow.unauthenticated", "true")


def _is_known(name: str) -> bool:
    return (
        name in OPTIONS
        or name in ALIASES
        or is_of_listener(name)
        or is_meaningless(name)
        or is_refusable(name)
    )


def _parsed(settings: Iterable[Setting]) -> tuple[dict[str, Any], dict[str, Setting]]:
    """The value of each option that is ours, and the others.

    They mean nothing, or are for one listener.
    """
    values: dict[str, Any] = {}
    others = {}
    for setting in settings:
        where, name, text, written = setting
        reason = why_refused(name, text)
        if reason is not None:
            raise OptionError(
                f"{where}: {name}={written or shown(name, text)} is refused: {reason}"
            )
        own = ALIASES.get(name, name)
        if own in OPTIONS:
            values[own] = _parse(setting, OPTIONS[own][1])
        elif _is_known(name):
            others[name] = setting._replace(text=text.strip())
        else:
            raise OptionError(f"{where}: {_unknown(name)}")
    return values, others


def _of_listeners(
    settings: Mapping[str, Setting], config: BrokerConfig
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of options that are for one listener, and what means nothing."""
    values: dict[str, Any] = {}
    meaningless = {}
    for setting in settings.values():
        where, name, text, _ = setting
        found = None
        if is_of_listener(name):
            try:
                found = find_listener_option(name, config)
            except OptionError as error:
                raise OptionError(f"{where}: {error}") from None
        if found is None:
            meaningless[name] = text
        else:
            values[name] = _parse(setting, found.known)
    return values, meaningless


def _parse(setting: Setting, known: Option) -> Any:
    text = setting.text.strip()
    if known.default is None and not text:
        return None
    try:
        return known.parse(text)
    except OptionError as error:
        told = str(error)
        if text and setting.written:  # whatever it is, it may be a secret
            told = told.replace(text, setting.written)
        raise OptionError(f"{setting.where}: {told}") from None


def _unknown(name: str) -> str:
    meant = did_you_mean(name, [*OPTIONS, *ALIASES])
    hint = f"; did you mean {meant}?" if meant else ""
    return f"there is no option {name!r}{hint}"


def _listeners_by_flags(
    values: Mapping[str, Any], flags: Flags
) -> dict[str, tuple[Listener, ...]]:
    """The listeners with the first one for clients at --host and --port, if given."""
    if flags.host is None and flags.port is None:
        return {}
    listeners = values.get("listeners", OPTIONS["listeners"][1].default)
    controllers = values.get("controller.listener.names", ("CONTROLLER",))
    moved = list(listeners)
    for index, listener in enumerate(moved):
        if listener.name not in controllers:
            host = listener.host if flags.host is None else flags.host
            port = listener.port if flags.port is None else flags.port
            moved[index] = listener._replace(host=host, port=port)
            break
    return {"listeners": tuple(moved)}


def _warnings(config: BrokerConfig) -> Iterable[str]:
    for listener in config.client_listeners:
        if listener.has_login:
            from .options.login_checks import login_warnings

            yield from login_warnings(SecurityOptions(config, listener))
        elif not listener.is_loopback:
            yield f"{listener} serves everybody who can reach it, unauthenticated"
    opened = {listener.name for listener in config.client_listeners}
    dropped = [x for x in config.listeners if x.name not in opened]
    if dropped:
        yield f"not opened, there is no controller: {', '.join(map(str, dropped))}"
