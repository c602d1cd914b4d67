"""Decoders and encoders of messages: straight-line code, compiled when first used.

For a class and a version a function is written in which every decision that depends
on the version, or on the kind of a field, has been taken. It is kept for the life of
the process; there are as many as versions that clients speak. ``compiler_decode`` and
``compiler_encode`` write them.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from .compiler_decode import write_decoder
from .compiler_encode import write_encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from .compiler_source import Source
    from .primitives import Buffer
    from .schema import Message

MessageT = TypeVar("MessageT", bound="Message")

_decoders: "dict[tuple[type[Message], int, int], Any]" = {}
_encoders: "dict[tuple[type[Message], int], Any]" = {}


def decoder(
    cls: "type[MessageT]", version: int, object_count_max: int | None = None
) -> "Callable[[memoryview, int], tuple[MessageT, int]]":
    """The function that reads a ``cls`` of ``version`` at a position.

    It takes the data (a view of bytes) and the position, and returns the message
    and the position behind it. Strings are decoded, bytes and records are views of
    the data. It raises ``MalformedRequest``, and nothing else, for bytes that are
    no such message. ``object_count_max`` is used in place of the class's own.

    Raises:
        ValueError: ``cls`` has no such version.
    """
    count_max = object_count_max or cls.object_count_max
    try:
        return _decoders[cls, version, count_max]  # type: ignore[no-any-return]
    except KeyError:
        write = partial(write_decoder, object_count_max=count_max)
        function = _compile(cls, version, write, "decode")
        _decoders[cls, version, count_max] = function
        return function  # type: ignore[no-any-return]


def encoder(
    cls: "type[MessageT]", version: int
) -> "Callable[[MessageT], list[Buffer]]":
    """The function that turns a ``cls`` into buffers of ``version``.

    Records are in the list as the message holds them, never empty; what stands
    around them is in bytearrays, of which one is always the first.

    Raises:
        ValueError: ``cls`` has no such version.
    """
    try:
        return _encoders[cls, version]  # type: ignore[no-any-return]
    except KeyError:
        function = _compile(cls, version, write_encoder, "encode")
        _encoders[cls, version] = function
        return function  # type: ignore[no-any-return]


def _compile(
    cls: "type[Message]",
    version: int,
    write: "Callable[[type[Message], int], Source]",
    name: str,
) -> Any:
    if not cls.min_version <= version <= cls.max_version:
        raise ValueError(f"{cls.__name__} has no version {version}")
    source = write(cls, version)
    code = compile(source.text(), f"<{name} {cls.__name__} v{version}>", "exec")
    exec(code, source.names)
    return source.names[name]
