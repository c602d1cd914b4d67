"""The options of a broker from all sources: a file, the environment, the command line.

Each is stronger than the one before; the defaults are the weakest. A name that
nobody knows stops the start, with the one that was probably meant: a misspelt
option would otherwise be a default that nobody wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.terminal.spelling import did_you_mean

from .options.broker_config import ALIASES, OPTIONS, BrokerConfig
from .options.error import OptionError
from .options.foreign import why_refused
from .options.member import OF_OTHERS, member_names
from .options.security.per_listener import SecurityOptions, is_of_listener
from .secrets import shown
from .settings import Flags, Setting, gather, is_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .options.listener import Listener
    from .options.option import Option

PROVIDERS = "config.providers"
_SECURE = "ODRADEK_SECURE"


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
    config = BrokerConfig(
        **fields,
        explicit=frozenset(values),
        foreign=meaningless,
        of_listeners=of_listeners,
    )
    _check_alone(config, settings)
    config.check()
    notes += _without_meaning(config)
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
    if config.is_member:
        from .cluster_options import cluster_options  # few brokers are

        cluster_options(config)
        if "node.id" not in config.explicit:
            raise OptionError(
                "process.roles=broker needs node.id: a number that no other broker or"
                " controller of the cluster has"
            )
        return
    if not config.explicit & OF_OTHERS:
        return
    from .sole_member import why_not_alone

    refusal = why_not_alone(config)
    if refusal is not None:
        where, name, text, _ = [x for x in settings if x.name == refusal.name][-1]
        raise OptionError(f"{where}: {name}={text} is refused: {refusal.reason}")


def _looked_up(
    settings: list[Setting], environment: Mapping[str, str]
) -> list[Setting]:
    """The settings with what is kept elsewhere in its place; mostly nothing is."""
    if not any(each.name == PROVIDERS or "${" in each.text for each in settings):
        return settings
    from .looked_up import looked_up

    return looked_up(settings, environment)


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
        elif is_known(name):
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
            from .listener_options import find_listener_option  # few listeners have any

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


def _without_meaning(config: BrokerConfig) -> Iterable[str]:
    """What is said of options that have been set and do nothing."""
    unheard = {each for each in config.foreign if not each.startswith(PROVIDERS)}
    if config.is_member:
        unheard = {each for each in unheard if not each.startswith("sasl.oauthbearer.")}
    else:
        unheard |= config.explicit & member_names()
    if unheard:
        names = ", ".join(sorted(unheard))
        yield f"accepted, but they mean nothing here: {names}"
    unused = sorted(
        name for name in config.explicit - unheard if not OPTIONS[name][1].is_used
    )
    if unused:
        yield f"accepted, but they change nothing yet: {', '.join(unused)}"


def _warnings(config: BrokerConfig) -> Iterable[str]:
    for listener in config.client_listeners:
        if listener.has_login:
            from .options.security.login_checks import login_warnings

            yield from login_warnings(SecurityOptions(config, listener))
        elif not listener.is_loopback:
            yield f"{listener} serves everybody who can reach it, unauthenticated"
    if config.sasl_oauthbearer_jwks_endpoint_url or config.of_listeners:
        from .options.security.unused_logins import unused_warnings

        yield from unused_warnings(config)
    opened = {listener.name for listener in config.client_listeners}
    dropped = [x for x in config.listeners if x.name not in opened]
    if dropped and not config.is_member:
        yield f"not opened, there is no controller: {', '.join(map(str, dropped))}"
