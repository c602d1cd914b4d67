"""What is left to the garbage collector: found by turning it off for a while."""

import contextlib
import gc
from collections.abc import Iterator, Sequence
from typing import Any

LARGE = 4 << 10  # bytes
_BUFFERS = (bytes, bytearray, memoryview)


@contextlib.contextmanager
def garbage() -> Iterator[list[Any]]:
    """Nothing is collected inside; afterwards the list has what should have been."""
    found: list[Any] = []
    for _ in range(3):  # what is finalized may leave garbage of its own
        gc.collect()
    was_enabled, flags = gc.isenabled(), gc.get_debug()
    gc.disable()
    # Or what another test has left might become garbage inside.
    held = gc.get_objects()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += gc.garbage
    finally:
        held.clear()
        gc.set_debug(flags)
        gc.garbage.clear()
        if was_enabled:
            gc.enable()


def thaw() -> None:
    """What a test has frozen is searched again; what it left is not, nor are tests.

    These are what `tests.conftest` froze: thawed, they make each search take half a
    second in a process that has collected them all.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def large_buffers(found: Sequence[Any]) -> list[Any]:
    """Those of more than ``LARGE`` bytes that ``found`` keeps; of a view, all of it.

    Buffers are no garbage themselves: they hang on the objects that are.
    """
    buffers: dict[int, Any] = {}
    held = list(found)
    for each in found:
        held += gc.get_referents(each)
    while held:
        each = held.pop()
        if isinstance(each, tuple) and not gc.is_tracked(each):
            held += each
        buffer = each.obj if isinstance(each, memoryview) else each
        if isinstance(buffer, _BUFFERS) and len(buffer) > LARGE:
            buffers[id(buffer)] = buffer
    return list(buffers.values())
