"""What producers have sent and were told: what must be true after a crash.

A transaction is known by its number, which is in every record of it, and is the
offset that it commits.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition

Visible = dict[TopicPartition, list[bytes]]


class Sent(NamedTuple):
    """One record of a transaction."""

    where: TopicPartition
    value: bytes


@dataclass(frozen=True)
class Account:
    """One transaction, as its producer knows it.

    ``asked`` is how it shall end, None as long as nobody has said; ``told`` is how
    it has ended. Who is fenced never hears.
    """

    number: int
    transactional_id: str
    records: tuple[Sent, ...] = ()
    has_offsets: bool = False
    asked: bool | None = None
    told: bool | None = None

    def visible_in(self, found: Visible) -> list[Sent]:
        """Which of its records committed readers get."""
        return [each for each in self.records if each.value in found[each.where]]


@dataclass(frozen=True)
class Promised:
    """All of it, at one moment.

    ``epochs`` are the highest that were given, by producer id. ``plain`` are the
    acknowledged records of no transaction.
    """

    catalog: Path
    now_ms: int
    accounts: dict[int, Account] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    plain: tuple[Sent, ...] = ()

    def of(self, transactional_id: str) -> list[Account]:
        """Its transactions, in their order."""
        return [
            each
            for each in self.accounts.values()
            if each.transactional_id == transactional_id
        ]


def check_outcomes(
    promised: Promised, found: Visible, offsets: dict[str, int]
) -> dict[int, bool | None]:
    """See that all transactions ended as they must; which of them are committed.

    ``offsets`` are those that are committed, by transactional id; -1 for none.
    """
    for each in promised.plain:
        assert each.value in found[each.where], each
    outcomes = {
        number: _outcome(account, found, offsets[account.transactional_id])
        for number, account in promised.accounts.items()
    }
    _check_order(promised, found)
    return outcomes


def _outcome(account: Account, found: Visible, offset: int) -> bool | None:
    """Whether a transaction is committed: whole, or not at all. None: nobody knows."""
    visible = account.visible_in(found)
    assert len(visible) in (0, len(account.records)), f"torn: {account} {visible}"
    is_committed = bool(visible)
    if account.has_offsets:
        # The offset is that of the last transaction which committed one.
        if not account.records:
            if offset > account.number:
                return None
            is_committed = offset == account.number
        elif is_committed:
            assert offset >= account.number, f"offsets are lost: {account} {offset}"
        assert offset != account.number or is_committed, f"only offsets: {account}"
    if account.told is not None:
        assert is_committed == account.told, f"a lie: {account}"
    if not account.asked:
        assert not is_committed, f"nobody has committed it: {account}"
    return is_committed


def _check_order(promised: Promised, found: Visible) -> None:
    """Everything visible was sent, and is there once, in the order of its producer."""
    sent: dict[TopicPartition, dict[str, list[bytes]]] = {each: {} for each in found}
    for account in promised.accounts.values():
        for where, value in account.records:
            sent[where].setdefault(account.transactional_id, []).append(value)
    for where, value in promised.plain:
        sent[where].setdefault("", []).append(value)
    for where, values in found.items():
        assert len(set(values)) == len(values), (where, values)
        known = {value for each in sent[where].values() for value in each}
        # A plain record that is under way is in nobody's account.
        assert all(each in known or each.startswith(b"plain") for each in values)
        for each in sent[where].values():
            assert [value for value in each if value in values] == [
                value for value in values if value in each
            ]
