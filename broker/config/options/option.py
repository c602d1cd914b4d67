"""One option: name, type, default, bounds and meaning; how text becomes its value.

The table of the broker's options is the dataclass ``BrokerConfig``, whose fields are
made by ``option``; a topic's options (``topic_config``) use the same ``Option``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from .error import OptionError

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_RANGES = {"INT": 31, "SHORT": 15, "LONG": 63}


class Kind(IntEnum):
    """The type of an option, numbered as DescribeConfigs answers it."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


UNUSED = "Accepted; changes nothing yet."


@dataclass(frozen=True, repr=False, eq=False)
class Option:
    """What is known of one option. ``read`` makes a special value out of the text.

    One that is not ``is_used`` is accepted for what clients and files of options
    expect, and changes nothing yet. One that ``is_dynamic`` can be changed while the
    broker runs. A listener may have a value of its own for what ``is_per_listener``,
    and for each of its SASL mechanisms another one for what ``is_per_mechanism`` (see
    `SecurityOptions`).
    """

    name: str
    kind: Kind
    default: Any
    meaning: str
    at_least: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None
    aliases: tuple[str, ...] = ()
    is_used: bool = True
    is_dynamic: bool = False
    is_per_listener: bool = False
    is_per_mechanism: bool = False

    @property
    def is_sensitive(self) -> bool:
        """Whether nobody is shown its value."""
        return self.kind is Kind.PASSWORD

    @property
    def full_meaning(self) -> str:
        """The meaning, and whether there is anything behind it."""
        return self.meaning if self.is_used else f"{self.meaning} {UNUSED}"

    def parse(self, text: str) -> Any:
        """The value that ``text`` says.

        Raises:
            OptionError: it is of another type or outside of the bounds.
        """
        text = text.strip()
        value = self._convert(text)
        numbers = value if self.kind is not Kind.LIST else None
        if isinstance(numbers, int | float):
            self._check_bounds(text, value)
        if self.choices:
            self._check_choices(text, value)
        return value

    def _convert(self, text: str) -> Any:
        if self.read is not None:
            try:
                return self.read(text)
            except ValueError as error:
                raise self._refusal(text, str(error)) from None
        match self.kind:
            case Kind.BOOLEAN:
                return self._boolean(text)
            case Kind.STRING | Kind.CLASS | Kind.PASSWORD:
                return text
            case Kind.LIST:
                return tuple(part.strip() for part in text.split(",") if part.strip())
            case Kind.DOUBLE:
                return self._double(text)
        return self._whole_number(text)

    def _boolean(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise self._refusal(text, "Expected value to be either true or false")
        return text.lower() == "true"

    def _double(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if value != value:  # not a number, said or not
            raise self._refusal(text, "Not a number of type DOUBLE")
        return value

    def _whole_number(self, text: str) -> int:
        bits = _RANGES[self.kind.name]
        if _WHOLE.fullmatch(text):
            value = int(text)
            if -(1 << bits) <= value < 1 << bits:
                return value
        raise self._refusal(text, f"Not a number of type {self.kind.name}")

    def _check_bounds(self, text: str, value: float) -> None:
        if self.at_least is not None and value < self.at_least:
            raise self._refusal(text, f"Value must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise self._refusal(text, f"Value must be no more than {self.at_most}")

    def _check_choices(self, text: str, value: Any) -> None:
        for part in value if isinstance(value, tuple) else (value,):
            if part not in self.choices:
                allowed = ", ".join(self.choices)
                raise self._refusal(text, f"String must be one of: {allowed}")

    def _refusal(self, text: str, why: str) -> OptionError:
        text = "[hidden]" if self.is_sensitive else text
        return OptionError(f"Invalid value {text} for configuration {self.name}: {why}")


def format_value(value: Any) -> str | None:
    """An option's value as the text that a client reads. None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if type(value) is tuple:  # a list; an address is a named tuple
        return ",".join(str(part) for part in value)
    if isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e-", "E-")
    return str(value)


def option(
    default: Any,
    name: str,
    meaning: str,
    *,
    kind: Kind | None = None,
    **more: Any,
) -> Any:
    """A field of the options table; the default says the kind (see ``Option``)."""
    if kind is None:
        kind = _kind_of(default)
    described = Option(name, kind, default, meaning, **more)
    return field(default=default, metadata={"option": described})


def _kind_of(default: Any) -> Kind:
    if isinstance(default, bool):
        return Kind.BOOLEAN
    if isinstance(default, int):
        return Kind.INT
    if isinstance(default, float):
        return Kind.DOUBLE
    if isinstance(default, tuple):
        return Kind.LIST
    return Kind.STRING
