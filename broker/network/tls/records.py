"""What is sent over TLS, cut so that it fills records: each is a write of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.protocol.primitives import Buffer

RECORD_SIZE: Final = 16 << 10  # the most that one holds


def records(buffers: Iterable[Buffer]) -> Iterator[Buffer]:
    """The same bytes in pieces that fill whole records, as few copied as that takes."""
    small: list[Buffer] = []
    size = 0
    for data in buffers:
        view = memoryview(data)
        if size:
            part = view[: RECORD_SIZE - size]
            small.append(part)
            size += len(part)
            view = view[len(part) :]
            if size == RECORD_SIZE:
                yield b"".join(small)
                small, size = [], 0
        whole = len(view) - len(view) % RECORD_SIZE
        if whole:
            yield view[:whole]
        if len(view) > whole:
            small.append(view[whole:])
            size += len(view) - whole
    if small:
        yield small[0] if len(small) == 1 else b"".join(small)
