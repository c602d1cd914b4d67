"""Options with the name of a listener in front: which option it is, and of whom.

`options.security.per_listener` says how such a name is made, and what it is worth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.terminal.spelling import did_you_mean

from .options.broker_config import ALIASES, OPTIONS
from .options.error import OptionError
from .options.foreign import is_meaningless, is_refusable
from .options.security.per_listener import HTTP, PREFIX, prefix_of

if TYPE_CHECKING:
    from .options.broker_config import BrokerConfig
    from .options.option import Option


class ListenerOption(NamedTuple):
    """One option of one listener; ``mechanism`` is empty if it is for all of them."""

    listener_name: str
    mechanism: str
    known: Option


def find_listener_option(name: str, config: BrokerConfig) -> ListenerOption | None:
    """What an option with the name of a listener in front is. None: nothing here.

    Raises:
        OptionError: there is no such listener, or no such option.
    """
    if not name.startswith(PREFIX):
        return _of_http(name)
    names = [listener.name for listener in config.listeners]
    if config.is_member:
        names += [x for x in config.controller_listener_names if x not in names]
    fitting = [each for each in names if name.startswith(prefix_of(each))]
    if not fitting:
        raise OptionError(_no_listener(name, names))
    listener_name = max(fitting, key=len)  # there may be dots in it
    rest = name.removeprefix(prefix_of(listener_name))
    is_open = any(listener_name == each.name for each in config.client_listeners)
    if not (is_open or config.is_member):
        return None  # a controller's, which is not opened
    found = _find(listener_name, rest)
    if found is None and not _is_known(rest):
        raise OptionError(_no_option(name, listener_name, rest))
    return found


def _of_http(name: str) -> ListenerOption:
    """Raises OptionError: there is no such option."""
    rest = name.removeprefix(prefix_of(HTTP))
    found = _find(HTTP, rest)
    if found is None:
        raise OptionError(_no_option(name, HTTP, rest))
    return found


def _find(listener_name: str, rest: str) -> ListenerOption | None:
    if rest in OPTIONS and OPTIONS[rest][1].is_per_listener:
        return ListenerOption(listener_name, "", OPTIONS[rest][1])
    mechanism, _, inner = rest.partition(".")
    if inner in OPTIONS and OPTIONS[inner][1].is_per_mechanism:
        return ListenerOption(listener_name, mechanism.upper(), OPTIONS[inner][1])
    return None


def _is_known(rest: str) -> bool:
    """Whether Apache Kafka or this broker has the option, though not for a listener."""
    _, _, inner = rest.partition(".")  # behind a mechanism
    return any(
        each in OPTIONS or each in ALIASES or is_meaningless(each) or is_refusable(each)
        for each in (rest, inner)
    )


def _no_listener(name: str, names: list[str]) -> str:
    wanted = name.removeprefix(PREFIX).partition(".")[0]
    prefixes = " or ".join(prefix_of(each) for each in names)
    return (
        f"{name}: listeners has no {wanted.upper()}; such an option begins with "
        f"{prefixes}, the name in lower case"
    )


def _no_option(name: str, listener_name: str, rest: str) -> str:
    own = [each for each, (_, known) in OPTIONS.items() if known.is_per_listener]
    meant = did_you_mean(rest, own)
    hint = f"; did you mean {prefix_of(listener_name)}{meant}?" if meant else ""
    return f"there is no option {name!r}{hint}"
