"""Groups of the consumer protocol (KIP-848) under the same torture as classic ones.

What must hold: every record is processed; at no time do two members that live own a
partition; in the end every partition has an owner.
"""

import random
import time
from pathlib import Path

from tests.broker_process import running_broker
from tests.crash.test_groups import (
    REBALANCES,
    Ledger,
    Member,
    Numbers,
    Torture,
    create_topic,
)
from tests.patience import PATIENCE_S

OPTIONS = {
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.session.timeout.ms": "1500",
    "group.consumer.min.session.timeout.ms": "1500",
    "group.consumer.assignment.interval.ms": "0",
}


def owned_twice(ledger: Ledger) -> list[tuple[int, int]]:
    """Times and partitions; members that were killed or frozen own nothing."""
    owned: dict[int, Member] = {}
    has: dict[Member, frozenset[int]] = {}
    twice: list[tuple[int, int]] = []
    for at_ns, member, partitions in sorted(ledger.times, key=lambda each: each[0]):
        for partition in has.get(member, frozenset()) - partitions:
            if owned.get(partition) is member:
                del owned[partition]
        twice += [
            (at_ns, partition)
            for partition in partitions
            if owned.setdefault(partition, member) is not member
        ]
        has[member] = partitions
    return twice


def test_two_owners_would_be_seen() -> None:
    ledger, (one, two) = Ledger(), (object.__new__(Member), object.__new__(Member))
    for at_ns, member, partitions in [
        (1, one, {0, 1}),
        (2, one, {0}),
        (3, two, {1}),
        (5, two, {0, 1}),
        (4, one, {0, 2}),
    ]:
        ledger.note_time(member, at_ns, partitions)
    assert owned_twice(ledger) == [(5, 0)]


def test_members_that_come_go_and_die_process_everything(tmp_path: Path) -> None:
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(tmp_path / "data", *options) as broker:
        create_topic(broker.address)
        torture = Torture(broker, random.Random(REBALANCES), "assigned_member")
        try:
            torture.settle()
            numbers = Numbers(broker.address)
            for turn in range(REBALANCES):
                torture.change(turn)
                torture.settle()
            numbers.stop()
            deadline = time.monotonic() + PATIENCE_S
            while not torture.has_processed(numbers.counts):
                assert time.monotonic() < deadline, "records are not processed"
                time.sleep(0.05)
            torture.settle()
        finally:
            torture.close()
        assert torture.ledger.generation >= REBALANCES
        assert not owned_twice(torture.ledger)
        assert "Traceback" not in broker.log()
