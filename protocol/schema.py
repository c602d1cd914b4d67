"""How a message is declared: once, as a typed class, for all of its versions.

    class MetadataRequest(Request, api_key=ApiKey.METADATA, versions=(0, 13)):
        topics: list[MetadataRequestTopic] | None = array(nullable=since(1))
        allow_auto_topic_creation: bool = boolean(default=True, versions=since(4))

Fields stand in the order of the wire. ``versions`` says where a field exists (a
version that lacks it skips it when encoding and leaves its default when decoding),
``nullable`` where it may be None, ``tag`` makes it a tagged field of the flexible
versions, written only when it differs from its default. Field and class names are
Kafka's. ``compiler`` turns a class and a version into code.
"""

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from .fields import (
    ALL_VERSIONS,
    LATEST,
    NO_VERSION,
    UNSET,
    Field,
    Versions,
    array,
    between,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    records,
    since,
    string,
    struct,
    uint16,
    uint32,
    until,
    uuid,
)
from .kafka_error import MalformedRequest
from .struct_init import first_init

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from .primitives import Buffer

__all__ = [
    "ALL_VERSIONS",
    "LATEST",
    "NEVER_FLEXIBLE",
    "NO_VERSION",
    "REQUESTS",
    "RESPONSES",
    "UNSET",
    "Field",
    "Message",
    "Request",
    "Response",
    "Struct",
    "Versions",
    "array",
    "between",
    "boolean",
    "bytes_",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "records",
    "since",
    "string",
    "struct",
    "uint16",
    "uint32",
    "until",
    "uuid",
]

NEVER_FLEXIBLE = LATEST + 1

# The messages of each API, entered as their classes are made.
REQUESTS: "dict[int, type[Request]]" = {}
RESPONSES: "dict[int, type[Response]]" = {}


class StructMeta(type):
    """Makes a slot of every declared field."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **options: Any,
    ) -> "StructMeta":
        """Make the class: the fields that it inherits, then its own."""
        own = {key: item for key, item in namespace.items() if isinstance(item, Field)}
        for key in own:
            if any(hasattr(base, key) for base in bases):
                raise TypeError(f"{name}.{key} hides an attribute of its base")
            del namespace[key]
        inherited: tuple[Field, ...] = getattr(bases[0], "fields", ()) if bases else ()
        namespace.setdefault("__slots__", tuple(own))
        namespace["__init__"] = first_init
        namespace["fields"] = (*inherited, *own.values())
        cls = super().__new__(mcs, name, bases, namespace, **options)
        for key, field in own.items():
            field.name = key
            field.owner = cls
        return cls


@dataclass_transform(kw_only_default=True)
class Struct(metaclass=StructMeta):
    """A part of a message: its fields, and the tagged fields that nobody knows (yet).

    Equal when of the same class with equal fields; not hashable, as it may change.
    ``unknown_tags`` is set by decoding, or by assignment; it is no argument.
    """

    __slots__ = ("unknown_tags",)

    fields: ClassVar[tuple[Field, ...]]
    unknown_tags: "Mapping[int, bytes]"

    def __eq__(self, other: object) -> bool:
        if (
            not isinstance(other, Struct)
            or self.declared_class() is not other.declared_class()
        ):
            return NotImplemented
        return self.unknown_tags == other.unknown_tags and all(
            getattr(self, field.name) == getattr(other, field.name)
            for field in self.fields
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{field.name}={_shown(self, field)}" for field in self.fields]
        if self.unknown_tags:
            shown.append(f"unknown_tags={dict(self.unknown_tags)}")
        return f"{self.declared_class().__name__}({', '.join(shown)})"

    def __reduce__(self) -> "tuple[Any, ...]":
        """Copy and pickle by value: shared defaults and empty tags are neither."""
        values = {field.name: getattr(self, field.name) for field in self.fields}
        return _restore, (self.declared_class(), values, dict(self.unknown_tags))

    @classmethod
    def declared_class(cls) -> "type[Struct]":
        """The class as it was declared: a shared default has one of its own."""
        return cls


class Message(Struct):
    """A struct with versions of its own: what travels alone, or lies in a record.

    ``flexible`` is the first version with compact lengths and tagged fields.
    ``object_count_max`` limits how many array elements and unknown tags decoding
    makes objects of. What strangers send gets as many as take 0.1 s and 25 MB; the
    largest request of a real client has a tenth of them.
    """

    min_version: ClassVar[int] = 0
    max_version: ClassVar[int] = 0
    first_flexible_version: ClassVar[int] = NEVER_FLEXIBLE
    object_count_max: ClassVar[int] = 100_000

    def __init_subclass__(
        cls,
        *,
        versions: tuple[int, int] | None = None,
        flexible: int = NEVER_FLEXIBLE,
    ) -> None:
        """Set the versions; a class without them is a base of messages."""
        super().__init_subclass__()
        if versions is not None:
            cls.min_version, cls.max_version = versions
            cls.first_flexible_version = flexible

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        """Whether ``version`` has compact lengths and tagged fields."""
        return version >= cls.first_flexible_version

    @classmethod
    def decode(cls, data: "Buffer", version: int) -> "Self":
        """The message that ``data`` holds and nothing else; views into ``data``.

        Raises:
            MalformedRequest: ``data`` is no such message, or more than it.
        """
        from .compiler import decoder  # it imports this module

        view = memoryview(data).cast("B")
        message, position = decoder(cls, version)(view, 0)
        if position != len(view):
            raise MalformedRequest(
                f"{cls.__name__} v{version}: {len(view) - position} bytes too many"
            )
        return message

    def encode(self, version: int) -> bytes:
        """The message as bytes; the broker sends the buffers of ``encoder`` instead."""
        from .compiler import encoder  # it imports this module

        return b"".join(encoder(type(self), version)(self))


class Request(Message):
    """What a client asks. A class with ``api_key`` is the request of that API."""

    api_key: ClassVar[int]

    def __init_subclass__(
        cls,
        *,
        api_key: int | None = None,
        versions: tuple[int, int] | None = None,
        flexible: int = NEVER_FLEXIBLE,
    ) -> None:
        """Enter the class into ``REQUESTS``."""
        super().__init_subclass__(versions=versions, flexible=flexible)
        if api_key is not None:
            cls.api_key = api_key
            if REQUESTS.setdefault(api_key, cls) is not cls:
                raise TypeError(f"API {api_key} has a request: {REQUESTS[api_key]}")


class Response(Message):
    """What the broker answers. A class with ``api_key`` is the answer of that API.

    Only a client decodes it. The metadata of a large cluster is many objects.
    """

    api_key: ClassVar[int]
    object_count_max: ClassVar[int] = 10_000_000

    def __init_subclass__(
        cls,
        *,
        api_key: int | None = None,
        versions: tuple[int, int] | None = None,
        flexible: int = NEVER_FLEXIBLE,
    ) -> None:
        """Enter the class into ``RESPONSES``."""
        super().__init_subclass__(versions=versions, flexible=flexible)
        if api_key is not None:
            cls.api_key = api_key
            if RESPONSES.setdefault(api_key, cls) is not cls:
                raise TypeError(f"API {api_key} has a response: {RESPONSES[api_key]}")


def _restore(
    cls: type[Struct], values: dict[str, Any], tags: dict[int, bytes]
) -> Struct:
    struct = cls(**values)
    if tags:
        struct.unknown_tags = tags
    return struct


def _shown(struct: Struct, field: Field) -> str:
    value = getattr(struct, field.name)
    return f"<{len(value)} bytes>" if isinstance(value, memoryview) else repr(value)
