"""The broker's options as they are now, and who is told when they change.

What was set while the broker ran is stronger than what it was started with, and what
was set for this broker stronger than what was set for all. Parts that keep a value of
their own ``watch``; nobody looks an option up for every request.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import InvalidConfig, InvalidRequest
from odradek.terminal.spelling import did_you_mean

from .options.broker_config import OPTIONS, Changes
from .options.error import OptionError
from .options.foreign import is_dynamic, why_refused
from .options.foreign_table import foreign_table
from .options.security.per_listener import is_of_listener
from .watchers import tell_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .options.broker_config import BrokerConfig
    from .options.option import Option

    Observer = Callable[[BrokerConfig], object]

_logger = logging.getLogger(__name__)


class LiveConfig:
    """``current`` is replaced by every change, and never changed itself."""

    def __init__(self, static: BrokerConfig) -> None:
        self.static = static
        self.current = static
        self._observers: list[Observer] = []
        self._refused: set[str] = set()  # what the log has said of those now

    def watch(self, observer: Observer) -> None:
        """Call ``observer`` with the options of every change to come."""
        self._observers.append(observer)

    def restore(self, everywhere: Mapping[str, str], here: Mapping[str, str]) -> None:
        """Begin with what was changed before the start, as far as it still can be."""
        usable = self._usable(everywhere, here)
        if any(usable):
            self.current = with_changes(self.static, *usable)

    def change(self, everywhere: Mapping[str, str], here: Mapping[str, str]) -> None:
        """Take what is set now, and tell those who watch.

        What was asked of us has been checked. What a cluster has decided need not have
        been, or not by a broker like us: of that, take what can be used.
        """
        try:
            self.current = with_changes(self.static, everywhere, here)
            self._refused.clear()
        except OptionError:
            usable = self._usable(everywhere, here)
            self.current = with_changes(self.static, *usable)
        tell_all(self._observers, self.current)

    def _usable(
        self, everywhere: Mapping[str, str], here: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Those that can be used together. Of each other one the log says why not."""
        usable: tuple[dict[str, str], dict[str, str]] = {}, {}
        refused = set()
        for texts, kept in zip((everywhere, here), usable, strict=True):
            for some in _together(texts):
                try:
                    with_changes(self.static, usable[0], {**usable[1], **some})
                except OptionError as error:
                    refused.add(str(error))
                else:
                    kept.update(some)
        for each in sorted(refused - self._refused):
            _logger.error("a changed option is not used: %s", each)
        self._refused = refused
        return usable


def with_changes(
    static: BrokerConfig, everywhere: Mapping[str, str], here: Mapping[str, str]
) -> BrokerConfig:
    """The options of a broker that was started with ``static``, after changes.

    Raises:
        OptionError: an option does not exist or cannot have this value, or two of
            them contradict each other.
    """
    fields: dict[str, Any] = {}
    foreign, of_listeners = dict(static.foreign), dict(static.of_listeners)
    for name, text in {**everywhere, **here}.items():
        if is_of_listener(name):
            known = _of_listener(name, static)
            of_listeners[name] = known.parse(text) if text.strip() else known.default
        elif name in OPTIONS:
            field, known = OPTIONS[name]
            fields[field] = known.parse(text)
        elif name in foreign_table():
            foreign_table()[name].parse(text)
            reason = why_refused(name, text)
            if reason is not None:
                raise OptionError(f"{name}={text} is refused: {reason}")
            foreign[name] = text
        else:
            raise OptionError(f"there is no option {name!r}")
    changes = Changes(static, dict(everywhere), dict(here))
    config = replace(
        static,
        **fields,
        foreign=foreign,
        of_listeners=of_listeners,
        changes=changes,
    )
    config.check()
    return config


def _together(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Options of one listener, which make sense together only; others one by one."""
    of_listeners: dict[str, dict[str, str]] = {}
    for name, text in texts.items():
        if is_of_listener(name):
            of_listeners.setdefault(name.split(".")[2], {})[name] = text
        else:
            yield {name: text}
    yield from of_listeners.values()


def _of_listener(name: str, static: BrokerConfig) -> Option:
    """Raises OptionError: there is no such listener, or it has no such option."""
    from .listener_options import find_listener_option  # few listeners have any

    found = find_listener_option(name, static)
    if found is None:
        raise OptionError(f"there is no option {name!r}")
    return found.known


def find_broker_option(name: str, static: BrokerConfig) -> Option:
    """The option of that name, ours or Apache Kafka's; or of one listener.

    Raises:
        InvalidConfig: there is none.
    """
    if is_of_listener(name):
        try:
            return _of_listener(name, static)
        except OptionError as error:
            raise InvalidConfig(str(error)) from None
    if name in OPTIONS:
        return OPTIONS[name][1]
    if name in foreign_table():
        return foreign_table()[name]
    meant = did_you_mean(name, [*OPTIONS, *foreign_table()])
    hint = f"; did you mean {meant}?" if meant else ""
    raise InvalidConfig(f"Unknown broker config name: {name}{hint}")


def broker_default(name: str, config: BrokerConfig) -> object:
    """The value of an option that has not been changed."""
    if name in OPTIONS:
        return getattr(config, OPTIONS[name][0])
    if name in config.of_listeners:
        return config.of_listeners[name]
    return config.foreign.get(name, find_broker_option(name, config).default)


def check_changes(
    names: Iterable[str], static: BrokerConfig, *, of_all: bool = False
) -> None:
    """See that these options can be changed while it runs, ``of_all`` brokers or of it.

    Raises:
        InvalidConfig: there is no such option.
        InvalidRequest: some need a restart, or are not set so.
    """
    names = list(names)
    fixed = [name for name in names if not _can_change(name, static)]
    _refuse(fixed, "Cannot update these configs dynamically")
    bare = [name for name in names if name in OPTIONS and _is_per_listener(name)]
    _refuse(
        bare,
        "These security configs can be dynamically updated only per-listener using the "
        "listener prefix",
    )
    if of_all:
        own = [name for name in names if is_of_listener(name)]
        _refuse(
            own,
            "Cannot update these configs at default cluster level, broker id must be "
            "specified",
        )


def _refuse(names: list[str], why: str) -> None:
    if names:
        raise InvalidRequest(f"{why}: [{', '.join(names)}]")


def _is_per_listener(name: str) -> bool:
    return OPTIONS[name][1].is_per_listener


def _can_change(name: str, static: BrokerConfig) -> bool:
    known = find_broker_option(name, static)
    if name in OPTIONS or is_of_listener(name):
        return known.is_dynamic
    return is_dynamic(name)
