"""What a station is: a function that requests pass, and what is said when one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.durability.committer import DirectoryCommitter
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.waiting.purgatory import Purgatory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType


class Moment:
    """A call, or a return: the function's variables by their names, and its value."""

    __slots__ = ("frame", "value", "variables")

    def __init__(self, frame: FrameType, value: Any = None) -> None:
        self.frame = frame
        self.value = value
        self.variables = frame.f_locals

    def __getitem__(self, name: str) -> Any:
        return self.variables[name]


class Station(NamedTuple):
    """A function, and what is said of its call, or with ``at_return`` of its return.

    ``text`` says nothing (None) where there is nothing to say. Without ``of`` it is
    about the request that is being handled; else about those to which one of the things
    that ``of`` names belongs, once for each, and only behind the station ``behind``.
    ``own`` names what belongs to them from then on. ``opens``: all that happens until
    the function returns is of that request. ``place`` is what to read, where that is
    another function. ``renews`` are stations that may come once more behind it.
    """

    function: Any
    text: Callable[[Moment], str | None]
    at_return: bool = False
    of: Callable[[Moment], Iterable[object]] | None = None
    own: Callable[[Moment], Iterable[object]] | None = None
    behind: Any = None
    opens: bool = False
    is_long_way: bool = False
    place: Any = None
    renews: tuple[Any, ...] = ()


_WAKERS = {
    DirectoryCommitter._on_synced.__code__: "the end of a sync",
    Purgatory._expire_due.__code__: "the end of its time",
    Partition.on_written.__code__: "the catalogue, which has noted the partition",
    Partition.on_log_start_durable.__code__: "a log start that is durable",
    Partition.append_usual.__code__: "an append",
    Partition.append.__code__: "an append",
    Partition.refuse.__code__: "the end of its partition",
    Partition.fail.__code__: "the failure of its log",
    DirectoryCommitter.fail.__code__: "the failure of its log directory",
}


def woken_by(frame: FrameType) -> str:
    """What has led to this call, as far as it is one of the usual reasons."""
    caller = frame.f_back
    while caller is not None:
        known = _WAKERS.get(caller.f_code)
        if known is not None:
            return known
        caller = caller.f_back
    return "whoever had it"
