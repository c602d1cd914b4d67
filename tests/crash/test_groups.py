"""Groups under torture: members come, go, are killed and frozen, and so is the broker.

What must hold, by the account of who reads: every record is processed; no partition
has two owners in one generation; in the end every partition has one.

Members are processes that speak the raw protocol (`group_member`) and say what they
own and what they process, in lines: a line that was read counts, whatever became of
its writer.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin

from tests.broker_process import BrokerProcess, ended, running_broker
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
REBALANCES = 100 if IS_LONG else 6
MEMBERS = 20 if IS_LONG else 6
PARTITIONS = 24
OPTIONS = ("-o", "group.min.session.timeout.ms=500")


class Member:
    """A process that is a member of the group, and the lines that it wrote."""

    def __init__(
        self, ledger: "Ledger", address: str, module: str = "group_member"
    ) -> None:
        command = [sys.executable, "-m", f"tests.crash.{module}", address]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.owned: tuple[int, frozenset[int]] = (-1, frozenset())
        self.is_frozen = False
        self._thread = threading.Thread(target=self._read, args=[ledger], daemon=True)
        self._thread.start()

    def _read(self, ledger: "Ledger") -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # it was killed while it wrote
            kind, *numbers = line.split()
            if kind == "owns":
                at_ns, generation, *partitions = map(int, numbers)
                self.owned = generation, frozenset(partitions)
                ledger.note_owner(self, generation, partitions)
                ledger.note_time(self, at_ns, partitions)
            else:
                ledger.note_processed(*map(int, numbers))

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, number: signal.Signals) -> None:
        """Stop it by a signal, whose handler leaves the group if it can."""
        with ended(self.process):
            self.send(signal.SIGCONT)
            self.send(number)
            self.process.wait(PATIENCE_S)
            self._thread.join(PATIENCE_S)


class Ledger:
    """Who owned what in which generation, and which offsets were processed."""

    def __init__(self) -> None:
        self.owners: dict[tuple[int, int], Member] = {}
        self.twice: list[tuple[int, int]] = []
        self.generation = 0
        self.processed: dict[int, set[int]] = defaultdict(set)
        self.times: list[tuple[int, Member, frozenset[int]]] = []
        self._lock = threading.Lock()

    def note_owner(
        self, member: Member, generation: int, partitions: list[int]
    ) -> None:
        with self._lock:
            self.generation = max(self.generation, generation)
            for partition in partitions:
                owner = self.owners.setdefault((generation, partition), member)
                if owner is not member:
                    self.twice.append((generation, partition))

    def note_time(self, member: Member, at_ns: int, partitions: Iterable[int]) -> None:
        with self._lock:
            self.times.append((at_ns, member, frozenset(partitions)))

    def note_processed(self, partition: int, begin: int, end: int) -> None:
        with self._lock:
            self.processed[partition].update(range(begin, end))


class Numbers:
    """Records to every partition, in a thread; how many there are in each."""

    def __init__(self, address: str) -> None:
        self.counts = [0] * PARTITIONS
        options = {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "linger.ms": 5,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
        }
        self._producer = confluent_kafka.Producer(options)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="numbers", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            for partition in range(PARTITIONS):
                self._producer.produce("torture", b"value", partition=partition)
                self.counts[partition] += 1
            self._producer.poll(0)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0


class Torture:
    """One group, and what is done to it."""

    def __init__(
        self,
        broker: BrokerProcess,
        chance: random.Random,
        module: str = "group_member",
    ) -> None:
        self.broker = broker
        self.ledger = Ledger()
        self._module = module
        self.members = [self._new() for _ in range(MEMBERS)]
        self._chance = chance

    def _new(self) -> Member:
        return Member(self.ledger, self.broker.address, self._module)

    def is_settled(self) -> bool:
        """Whether the living share all partitions, in one generation."""
        living = [each for each in self.members if not each.is_frozen]
        owned = [each.owned for each in living]
        partitions = [p for _, each in owned for p in each]
        return len({generation for generation, _ in owned}) == 1 and sorted(
            partitions
        ) == list(range(PARTITIONS))

    def settle(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_settled():
            assert all(each.process.poll() is None for each in self.members)
            assert time.monotonic() < deadline, [
                (each.owned[0], sorted(each.owned[1])) for each in self.members
            ]
            time.sleep(0.01)

    def change(self, turn: int) -> None:
        """Something happens that makes the group rebalance."""
        if turn % 5 == 4:
            self.broker.kill()
            self.broker.start()
        member = self._chance.choice(self.members)
        match turn % 4:
            case 0:
                member.end(signal.SIGKILL)
                self.ledger.note_time(member, time.monotonic_ns(), ())
                self.members.remove(member)
                self.members.append(self._new())
            case 1:
                member.end(signal.SIGTERM)
                # It may have ended while it looked for the broker, without a word.
                self.ledger.note_time(member, time.monotonic_ns(), ())
                self.members.remove(member)
            case 2:
                member.send(signal.SIGSTOP)
                self.ledger.note_time(member, time.monotonic_ns(), ())
                member.is_frozen = True
                self.settle()
                member.send(signal.SIGCONT)
                member.is_frozen = False
            case 3:
                self.members.append(self._new())

    def has_processed(self, counts: list[int]) -> bool:
        return all(
            self.ledger.processed[partition] == set(range(count))
            for partition, count in enumerate(counts)
        )

    def close(self) -> None:
        for each in self.members:
            each.end(signal.SIGKILL)


def create_topic(address: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    wanted = confluent_kafka.admin.NewTopic("torture", PARTITIONS, 1)
    admin.create_topics([wanted])["torture"].result(PATIENCE_S)


def test_members_that_come_go_and_die_process_everything(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        create_topic(broker.address)
        torture = Torture(broker, random.Random(REBALANCES))
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
        assert not torture.ledger.twice
        assert "Traceback" not in broker.log()
