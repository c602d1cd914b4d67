"""The fields of a message: their kinds, the versions that have them, their defaults."""

import sys
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from .primitives import FIXED_CODES
from .uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema import Struct

LATEST = 32767


class Versions(NamedTuple):
    """A range of versions, both ends included."""

    first: int
    last: int

    def cover(self, version: int) -> bool:
        """Whether ``version`` is one of them."""
        return self.first <= version <= self.last


ALL_VERSIONS = Versions(0, LATEST)
NO_VERSION = Versions(1, 0)


def since(first: int) -> Versions:
    """``first`` and every later version."""
    return Versions(first, LATEST)


def until(last: int) -> Versions:
    """Every version up to ``last``, included."""
    return Versions(0, last)


def between(first: int, last: int) -> Versions:
    """``first`` to ``last``, both included."""
    return Versions(first, last)


class _Unset:
    """Stands for "no value given" where None is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()

_DEFAULTS: dict[str, object] = {
    **dict.fromkeys(FIXED_CODES, 0),
    "boolean": False,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": b"",
    "records": None,
}


class Field:
    """One field of a struct, in all versions.

    ``default`` is ``UNSET`` for what is made anew for each struct: an empty list,
    or a struct of defaults.
    """

    __slots__ = (
        "default",
        "kind",
        "name",
        "nullable",
        "of",
        "owner",
        "tag",
        "versions",
    )

    name: str
    owner: type

    def __init__(
        self,
        kind: str,
        default: object = UNSET,
        versions: Versions = ALL_VERSIONS,
        nullable: Versions | bool = False,
        tag: int | None = None,
        of: Any = None,
    ) -> None:
        if isinstance(nullable, bool):
            nullable = ALL_VERSIONS if nullable else NO_VERSION
        if tag is not None and kind == "records":
            raise TypeError("records cannot be a tagged field")
        self.kind = kind
        self.default = _DEFAULTS.get(kind, UNSET) if default is UNSET else default
        self.versions = versions
        self.nullable = nullable
        self.tag = tag
        self.of = of

    @property
    def element(self) -> "Field":
        """What an array holds, as a field of its own."""
        of = self._declared_type().__args__[0] if self.of is None else self.of
        if of is str:
            return string()  # type: ignore[no-any-return]
        if hasattr(of, "fields"):
            return Field("struct", of=of)
        element = of() if callable(of) else None
        if not isinstance(element, Field):
            raise TypeError(f"{self}: say what the array holds (of=int32)")
        return element

    @property
    def struct_class(self) -> "type[Struct]":
        """The class of a struct."""
        of = self._declared_type() if self.of is None else self.of
        if not hasattr(of, "fields"):
            raise TypeError(f"{self}: {of!r} is not a struct")
        return of  # type: ignore[no-any-return]

    def _declared_type(self) -> Any:
        """The annotation, without ``| None``."""
        annotation = self.owner.__annotations__[self.name]
        if isinstance(annotation, str):
            module = sys.modules[self.owner.__module__]
            annotation = eval(annotation, vars(module))
        alternatives = getattr(annotation, "__args__", ())
        if NoneType in alternatives:
            annotation = next(kind for kind in alternatives if kind is not NoneType)
        return annotation

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


# The functions below return a Field where the annotation of the class promises a
# value. They are typed Any for that reason: for mypy they are the field's default.


def boolean(
    *, default: bool = False, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """A bool, one byte."""
    return Field("boolean", default, versions, tag=tag)


def int8(
    *, default: int = 0, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """A signed integer of one byte."""
    return Field("int8", default, versions, tag=tag)


def int16(
    *, default: int = 0, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """A signed integer of two bytes."""
    return Field("int16", default, versions, tag=tag)


def uint16(
    *, default: int = 0, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """An unsigned integer of two bytes."""
    return Field("uint16", default, versions, tag=tag)


def int32(
    *, default: int = 0, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """A signed integer of four bytes."""
    return Field("int32", default, versions, tag=tag)


def uint32(
    *, default: int = 0, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """An unsigned integer of four bytes."""
    return Field("uint32", default, versions, tag=tag)


def int64(
    *, default: int = 0, versions: Versions = ALL_VERSIONS, tag: int | None = None
) -> Any:
    """A signed integer of eight bytes."""
    return Field("int64", default, versions, tag=tag)


def float64(
    *,
    default: float = 0.0,
    versions: Versions = ALL_VERSIONS,
    tag: int | None = None,
) -> Any:
    """A float of eight bytes."""
    return Field("float64", default, versions, tag=tag)


def uuid(
    *,
    default: bytes = ZERO_UUID,
    versions: Versions = ALL_VERSIONS,
    tag: int | None = None,
) -> Any:
    """A UUID as 16 bytes."""
    return Field("uuid", default, versions, tag=tag)


def string(
    *,
    default: str | None = "",
    versions: Versions = ALL_VERSIONS,
    nullable: Versions | bool = False,
    tag: int | None = None,
) -> Any:
    """A str, UTF-8 on the wire."""
    return Field("string", default, versions, nullable, tag)


def bytes_(
    *,
    default: bytes | None = b"",
    versions: Versions = ALL_VERSIONS,
    nullable: Versions | bool = False,
    tag: int | None = None,
) -> Any:
    """Bytes; a decoded one is a view of the message."""
    return Field("bytes", default, versions, nullable, tag)


def records(
    *,
    default: bytes | None = None,
    versions: Versions = ALL_VERSIONS,
    nullable: Versions | bool = True,
) -> Any:
    """Record batches: a view of the message when decoded, never copied in encoding."""
    return Field("records", default, versions, nullable)


def array(
    *,
    of: "Callable[..., Any] | None" = None,
    default: object = UNSET,
    versions: Versions = ALL_VERSIONS,
    nullable: Versions | bool = False,
    tag: int | None = None,
) -> Any:
    """A list; of what, the annotation says, or ``of`` (``of=int32``)."""
    return Field("array", default, versions, nullable, tag, of)


def struct(
    *,
    of: "type[Struct] | None" = None,
    default: object = UNSET,
    versions: Versions = ALL_VERSIONS,
    nullable: Versions | bool = False,
    tag: int | None = None,
) -> Any:
    """A struct of the annotated class; one of defaults unless ``default=None``."""
    return Field("struct", default, versions, nullable, tag, of)
