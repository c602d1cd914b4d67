"""The fields of a request, each taken once; what is left over is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from odradek.broker.operate.admin_socket import AdminError
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.protocol.errors import KafkaError

T = TypeVar("T")

# In place of a default: the field must be there.
NEEDED: Final[Any] = object()


class Fields:
    """What a request says, by name.

    All methods raise `AdminError` when a field is missing or of another type.
    """

    def __init__(
        self, request: Mapping[str, Any], elsewhere: Iterable[str] = ()
    ) -> None:
        """``elsewhere``: names that a client's method has for what stands elsewhere."""
        self._given = dict(request)
        self._elsewhere = tuple(elsewhere)
        self._known: list[str] = []

    def text(self, name: str, default: str | None = NEEDED) -> Any:
        """A text, as `str`."""
        return self._take(name, (str,), "a text", default)

    def number(
        self,
        name: str,
        default: int | None = NEEDED,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
    ) -> Any:
        """A whole number, as `int`."""
        value: Any = self._take(name, (int,), "a whole number", default)
        if value is default:
            return value
        if at_least is not None and value < at_least:
            raise refusal(f"{name} is {value}; it is at least {at_least}")
        if at_most is not None and value > at_most:
            raise refusal(f"{name} is {value}; it is at most {at_most}")
        return value

    def fraction(self, name: str, default: float | None = NEEDED) -> Any:
        """A number, as `float`."""
        value: Any = self._take(name, (int, float), "a number", default)
        return value if value is default else float(value)

    def flag(self, name: str, default: bool | None = NEEDED) -> Any:
        """True or false, as `bool`."""
        return self._take(name, (bool,), "true or false", default)

    def choice(
        self, name: str, choices: tuple[str, ...], default: str | None = NEEDED
    ) -> Any:
        """One of several texts, as `str`."""
        value: Any = self._take(name, (str,), "a text", default)
        if value is not default and value not in choices:
            meant = did_you_mean(value, choices)
            hint = f"did you mean {meant}?" if meant else f"it is {', '.join(choices)}"
            raise refusal(f"{name} is {value!r}; {hint}")
        return value

    def texts(self, name: str, default: list[str] | None = NEEDED) -> Any:
        """Several texts, as a list of `str`."""
        values: Any = self._take(name, (list,), "a list of texts", default)
        if values is not default and not all(isinstance(each, str) for each in values):
            raise refusal(f"{name} is {values!r}; it is a list of texts")
        return values

    def items(self, name: str, default: list[Any] | None = NEEDED) -> Any:
        """A list of anything."""
        return self._take(name, (list,), "a list", default)

    def mapping(self, name: str, default: Mapping[str, Any] | None = NEEDED) -> Any:
        """An object, as a `dict`."""
        return self._take(name, (dict,), "an object", default)

    def has(self, name: str) -> bool:
        """Whether the field is there, and not null."""
        return self._given.get(name) is not None

    def end(self) -> None:
        """Refuse what nobody has taken."""
        for name in self._given:
            if name not in self._known:
                known = (*self._known, *self._elsewhere)
                meant = did_you_mean(name, known)
                names = ", ".join(known) or "none"
                hint = f"did you mean {meant}?" if meant else f"fields: {names}"
                raise refusal(f"{name!r} is not a field of this request; {hint}")

    def _take(self, name: str, types: tuple[type, ...], what: str, default: T) -> T:
        self._known.append(name)
        value = self._given.get(name)
        if value is None:
            if default is NEEDED:
                raise refusal(f"{name} is missing: {what}")
            return default
        if not isinstance(value, types) or (
            isinstance(value, bool) and bool not in types
        ):
            raise refusal(f"{name} is {value!r}; it is {what}")
        return value  # type: ignore[return-value]


def refusal(message: str) -> AdminError:
    """A request that makes no sense."""
    return AdminError("bad-request", message)


def refused_by(error: KafkaError) -> AdminError:
    """What Kafka's protocol has a code for: its name is the word."""
    return AdminError(error.code.name, str(error))
