"""Decoders and encoders of messages, written and compiled when first used."""

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from .primitives import Buffer
    from .schema import Message

MessageT = TypeVar("MessageT", bound="Message")


def decoder(
    cls: "type[MessageT]", version: int
) -> "Callable[[memoryview, int], tuple[MessageT, int]]":
    """The function that reads ``cls`` of ``version`` at a position."""
    raise ValueError("not yet compiled")


def encoder(
    cls: "type[MessageT]", version: int
) -> "Callable[[MessageT], list[Buffer]]":
    """The function that writes ``cls`` of ``version`` into buffers."""
    raise ValueError("not yet compiled")
