"""What the coordinator of a share partition is asked, wherever it is.

Each question is about one share partition, and knows how it is put to the coordinator
of this broker.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from .state import NO_START, ShareKey, StateSummary, StateUpdate

if TYPE_CHECKING:
    from .service import ShareCoordinator


class InitialiseState(NamedTuple):
    """Begin a share partition anew. The answer is None."""

    key: ShareKey
    state_epoch: int
    start: int = NO_START

    def ask(self, states: ShareCoordinator) -> Any:
        """Have it done here."""
        starts = {self.key: self.start}
        return states.initialise(starts, self.state_epoch, itemgetter(self.key))


class ReadState(NamedTuple):
    """All that is known of a share partition: a `StoredState`."""

    key: ShareKey
    leader_epoch: int

    def ask(self, states: ShareCoordinator) -> Any:
        """Ask here."""
        return states.read(self.key, self.leader_epoch)


class WriteState(NamedTuple):
    """Keep what has changed. The answer is None."""

    key: ShareKey
    update: StateUpdate

    def ask(self, states: ShareCoordinator) -> Any:
        """Have it done here."""
        return states.write(self.key, self.update)


class SummariseState(NamedTuple):
    """Where a share group is: a `StateSummary`."""

    key: ShareKey

    def ask(self, states: ShareCoordinator) -> Any:
        """Ask here."""
        return states.summarise((self.key,), itemgetter(self.key))


class DeleteState(NamedTuple):
    """Forget a share partition. The answer is None."""

    key: ShareKey

    def ask(self, states: ShareCoordinator) -> Any:
        """Have it done here."""
        return states.delete((self.key,), itemgetter(self.key))


StateQuestion = InitialiseState | ReadState | WriteState | SummariseState | DeleteState

WITHOUT_STATES: dict[type, Any] = {SummariseState: StateSummary(), DeleteState: None}
"""The answers while nobody has anything to keep."""
