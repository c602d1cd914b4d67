"""What can be waited for: each says what is missing yet, and where to look.

Another subject adds its own to what `conditions` returns: a function that takes the
fields of the request and makes a `Condition`. What is in no log it announces itself,
by `Changes.tell`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from odradek.broker.control.fields import refusal
from odradek.broker.coordinator.transaction.states import BY_LABEL
from odradek.broker.runtime.logs import counted
from odradek.protocol.topic_partition import TopicPartition

from .group_conditions import AllRead, Committed, HasAssigned
from .record_conditions import HasRecords
from .share_conditions import HasAcquired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from odradek.broker.control.fields import Fields
    from odradek.broker.coordinator.transaction.records import TransactionRecord
    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.services import Services

    from .assignments import Assignments
    from .changes import Changes

    Conditions = dict[str, Callable[[Fields], "Condition"]]


class Condition(Protocol):
    """What somebody waits for."""

    def places(self) -> Iterable[TopicPartition]:
        """The partitions whose changes matter, as they are now."""

    def missing(self) -> str:
        """What is missing yet, for people; empty when the condition holds."""

    def end(self) -> None:
        """Nobody waits for it any more."""


def conditions(
    services: Services,
    listeners: Sequence[Listener],
    changes: Changes,
    assignments: Assignments,
) -> Conditions:
    """What makes each, by its name."""

    def records(fields: Fields) -> Condition:
        return HasRecords(
            services,
            fields.text("topic"),
            fields.number("count", 1, at_least=1),
            fields.number("partition", None, at_least=0),
        )

    def assigned(fields: Fields) -> Condition:
        return HasAssigned(
            services,
            assignments,
            fields.text("group"),
            fields.number("members", 1, at_least=0),
            must_read=fields.flag("reading", True),
            tell=changes.tell,
        )

    def acquired(fields: Fields) -> Condition:
        count = fields.number("count", 1, at_least=0)
        return HasAcquired(services, fields.text("group"), count, changes.tell)

    def lag(fields: Fields) -> Condition:
        group, topic = fields.text("group"), fields.text("topic", None)
        return AllRead(services, assignments, group, topic)

    def committed(fields: Fields) -> Condition:
        place = TopicPartition(fields.text("topic"), fields.number("partition", 0))
        offset = fields.number("offset", at_least=0)
        return Committed(services, fields.text("group"), place, offset)

    def transaction(fields: Fields) -> Condition:
        state = fields.choice("state", tuple(BY_LABEL))
        return InState(services, fields.text("id"), state, changes.tell)

    def connections(fields: Fields) -> Condition:
        return FewConnections(listeners, fields.number("at_most", 0, at_least=0))

    return {
        "records": records,
        "assigned": assigned,
        "acquired": acquired,
        "lag": lag,
        "committed": committed,
        "transaction": transaction,
        "connections": connections,
    }


class InState:
    """A transactional id is, or has come by, a state."""

    def __init__(
        self,
        services: Services,
        transactional_id: str,
        state: str,
        tell: Callable[[], object],
    ) -> None:
        if not transactional_id:
            raise refusal("id is empty")
        self._id = transactional_id
        self._wanted = BY_LABEL[state]
        self._seen = ""  # states that have passed since
        self._has_passed = False
        self._tell = tell
        self._transactions = services.transactions
        self._watchers = services.transactions.watchers
        self._watchers.append(self._note)

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._watchers.remove(self._note)

    def places(self) -> Iterable[TopicPartition]:
        """None: it is told by what is replayed."""
        return ()

    def missing(self) -> str:
        """What it is instead."""
        if self._has_passed:
            return ""
        for shard in self._transactions.runtime.shards():
            found = shard.state.get(self._id)
            if found is None:
                continue
            if found.state is self._wanted:
                return ""
            what = f"the transaction of {self._id} is {found.state.label}"
            return f"{what}, not {self._wanted.label}{self._seen}"
        return f"there is no transactional id {self._id}"

    def _note(self, record: TransactionRecord) -> None:
        # Prepare… may be over in the same turn: whoever waits for it has seen it.
        if record.transactional_id != self._id or record.transaction is None:
            return
        state = record.transaction.state
        self._has_passed |= state is self._wanted
        self._seen += (
            f", {state.label}" if self._seen else f"; it came by {state.label}"
        )
        self._tell()


class FewConnections:
    """There are no more connections of clients than so many."""

    def __init__(self, listeners: Sequence[Listener], count_max: int) -> None:
        self._listeners = listeners
        self._count_max = count_max

    def end(self) -> None:
        """Nothing is held."""

    def places(self) -> Iterable[TopicPartition]:
        """None: it is told by the listeners."""
        return ()

    def missing(self) -> str:
        """Who is there."""
        infos = [each.info for of in self._listeners for each in of.connections]
        if len(infos) <= self._count_max:
            return ""
        clients = sorted(
            f"{each.peer_host}:{each.peer_port} {each.client_software_name}".rstrip()
            for each in infos
        )
        return f"{counted(len(infos), 'connection')}: {', '.join(clients)}"
