"""Worlds of groups whose broker assigns: members that do whatever comes to their minds.

What such a world makes of the members is its own. All of them have members that know
their timeouts, answers that are lost, and brokers that begin anew.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tests.broker.coordinator.group.rig import Groups

REBALANCE_MS = 20_000
SESSION_MS = 45_000


@dataclass(eq=False)
class Actor:
    """What every member knows of itself."""

    member_id: str
    epoch: int = field(default=0, kw_only=True)
    # Since when an answer is lost: it says all of itself next.
    unsure_ms: int | None = field(default=None, kw_only=True)
    heard_ms: int = field(default=0, kw_only=True)
    # Since when it has had to give something up.
    revoking_ms: int | None = field(default=None, kw_only=True)


A = TypeVar("A", bound=Actor)
Happenings = dict[Callable[[], None], int]


class GroupWorld(ABC, Generic[A]):
    """One group, and what may happen to it; each with how often it does."""

    def __init__(self, seed: int, groups: Groups) -> None:
        self.random = random.Random(seed)
        self.groups: Any = groups
        self.actors: list[A] = []
        self.number = 0
        self.assigned_count = self.fenced_count = self.restart_count = 0

    @abstractmethod
    def happenings(self) -> Happenings:
        """What may happen."""

    @abstractmethod
    def check(self) -> None:
        """What must hold after each step."""

    @abstractmethod
    def finish(self) -> None:
        """Leave the group in peace, and see what becomes of it."""

    @abstractmethod
    def begin_anew(self, actor: A) -> None:
        """As the protocol says of who is fenced: it gives up all, and joins again."""

    def run(self, steps: int) -> None:
        happenings = self.happenings()
        what, weights = list(happenings), list(happenings.values())
        for _ in range(steps):
            self.random.choices(what, weights)[0]()
            self.check()

    def someone(self) -> A | None:
        return self.random.choice(self.actors) if self.actors else None

    def new_id(self) -> str:
        self.number += 1
        return f"m{self.number}"

    def someone_dies(self) -> None:
        """It does nothing any more, and the broker does not know."""
        if actor := self.someone():
            self.actors.remove(actor)

    def time_passes(self) -> None:
        """A member stops to work before its time is over: it knows its timeouts.

        An answer that was lost may have told it to give something up.
        """
        by_ms = self.random.choice((10, 1000, 5000, 11_000))
        now_ms = self.groups.clock.now_ms() + by_ms
        for each in self.actors:
            is_late = now_ms - each.heard_ms >= REBALANCE_MS
            since_ms = each.revoking_ms
            is_slow = since_ms is not None and now_ms - since_ms >= REBALANCE_MS
            if is_late or is_slow:
                self.begin_anew(each)
        self.groups.clock.advance(by_ms)

    def restart(self, group_of: Callable[[], Any], names: Iterable[str]) -> None:
        """The broker begins anew: what it replays is what was, as far as ``names``."""
        before = group_of()
        self.groups.flush()
        self.groups.reload()
        after = group_of()
        self.restart_count += 1
        if before is None or after is None:
            assert before is after
            return
        for name in names:
            assert getattr(after, name) == getattr(before, name), name
        for each in self.actors:  # their timers begin anew with the broker
            each.heard_ms = self.groups.clock.now_ms()


W = TypeVar("W", bound=GroupWorld[Any])


def live_and_finish(new: Callable[[int], W], seeds: Iterable[int], steps: int) -> None:
    """See that all holds in each of these worlds, to its end."""
    for seed in seeds:
        world = new(seed)
        try:
            world.run(steps)
            world.finish()
        except Exception as error:
            error.add_note(f"{new.__name__}({seed})")
            raise


def lived(new: Callable[[int], W], count: int, steps: int) -> list[W]:
    """So many worlds, in the middle of their lives."""
    worlds = [new(seed) for seed in range(count)]
    for world in worlds:
        world.run(steps)
    return worlds
