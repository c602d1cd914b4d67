"""How often records of a share group were delivered, while the broker is killed.

Members accept most of what they have, and give some of it back.
What must hold, by the account of the members: every record is accepted by somebody; a
record whose acceptance was answered before somebody asked for records is not among
them; a record was delivered as often as it says, but for what the broker did not answer
any more.
"""

import contextlib
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin

from odradek.protocol.errors import ErrorCode
from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S
from tests.share_member import ACCEPT, RELEASE, Refused, ShareAdmin, ShareMember, Taken

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
RECORDS = 100_000 if IS_LONG else 3_000
KILLS = 20 if IS_LONG else 3
MEMBERS, PARTITIONS = 3, 2
GROUP, TOPIC = "sharers", "tasks"
AT_ONCE, BATCH = 20, 10
RELEASES_MAX = 5
# Nobody loses anything for being slow, and a record may be tried often.
OPTIONS = {
    "group.share.max.record.lock.duration.ms": "3600000",
    "group.share.record.lock.duration.ms": "3600000",
    "group.share.max.delivery.count.limit": "25",
    "group.share.delivery.count.limit": "25",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
}
# A member, a session that a killed broker does not know; a state that is being loaded.
AGAIN = {
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_MEMBER_ID,
}

Offset = tuple[int, int]  # partition, offset


class Ledger:
    """What became of each record, as far as the members were told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.accepted_s: dict[Offset, float] = {}
        self.processed: set[Offset] = set()  # whether or not that was answered
        self.faults: list[str] = []
        # Releases that were asked for, and those that were answered.
        self._asked: dict[Offset, int] = defaultdict(int)
        self._answered: dict[Offset, int] = defaultdict(int)

    def note_taken(self, taken: Taken, asked_s: float) -> None:
        """A member was given these by a request that it sent then."""
        with self._lock:
            for each in offsets(taken):
                if self.accepted_s.get(each, asked_s) < asked_s:
                    self.faults.append(f"{each} comes again")
                least, most = 1 + self._answered[each], 1 + self._asked[each]
                if not least <= taken.delivery_count <= most:
                    self.faults.append(
                        f"{each}: delivery {taken.delivery_count} is {least} to {most}"
                    )

    def note_asked(self, accepted: list[Taken], released: list[Taken]) -> None:
        """A member is about to say this."""
        with self._lock:
            for taken in accepted:
                self.processed.update(offsets(taken))
            for taken in released:
                for each in offsets(taken):
                    self._asked[each] += 1

    def note_answered(self, accepted: list[Taken], released: list[Taken]) -> None:
        """The broker has said that it knows."""
        now_s = time.monotonic()
        with self._lock:
            for taken in accepted:
                for each in offsets(taken):
                    self.accepted_s.setdefault(each, now_s)
            for taken in released:
                for each in offsets(taken):
                    self._answered[each] += 1


def offsets(taken: Taken) -> Iterator[Offset]:
    for offset in range(taken.first, taken.last + 1):
        yield taken.partition, offset


class Worker:
    """A member in a thread of its own, which comes back whatever happens."""

    def __init__(self, address: str, ledger: Ledger, seed: int) -> None:
        self._address, self._ledger = address, ledger
        self._random = random.Random(seed)
        self._is_over = threading.Event()
        self.bug: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        if self.bug is not None:
            raise self.bug

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                with contextlib.suppress(ConnectionError, TimeoutError, Later):
                    self._work()
                self._is_over.wait(0.02)
        except BaseException as bug:
            self.bug = bug

    def _work(self) -> None:
        with ShareMember(self._address, GROUP, TOPIC) as member, retried():
            member.join(1)
            # Dead members have their part of the assignment for a while. Nobody asks
            # whether a partition is assigned to who fetches it.
            member.partitions = set(range(PARTITIONS))
            while not self._is_over.is_set():
                asked_s = time.monotonic()
                for taken in member.fetch(AT_ONCE, max_wait_ms=200):
                    self._ledger.note_taken(taken, asked_s)
                    self._acknowledge(member, taken)
            member.leave()

    def _acknowledge(self, member: ShareMember, taken: Taken) -> None:
        """Accept most of it, and give some of it back."""
        accepted, released = [taken], []
        size = taken.last - taken.first + 1
        gives_back = taken.delivery_count < RELEASES_MAX and self._random.random() < 0.2
        if size > 1 and gives_back:
            cut = self._random.randrange(taken.first + 1, taken.last + 1)
            accepted = [taken._replace(last=cut - 1)]
            released = [taken._replace(first=cut)]
        self._ledger.note_asked(accepted, released)
        said = [(each.first, each.last, ACCEPT) for each in accepted]
        said += [(each.first, each.last, RELEASE) for each in released]
        member.acknowledge(taken.partition, *said)
        self._ledger.note_answered(accepted, released)


class Later(Exception):
    """The broker was killed meanwhile, and knows nothing of this session."""


@contextlib.contextmanager
def retried() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        if error.code not in AGAIN:
            raise
        raise Later from error


def begin(broker: BrokerProcess) -> None:
    """A topic with all records, of which the group is to read everything."""
    client = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    wanted = confluent_kafka.admin.NewTopic(TOPIC, PARTITIONS, 1)
    client.create_topics([wanted])[TOPIC].result(PATIENCE_S)
    # Batches are handed out whole.
    options = {"bootstrap.servers": broker.address, "batch.num.messages": BATCH}
    producer = confluent_kafka.Producer(options)
    for number in range(RECORDS):
        if number % 1000 == 0:
            producer.flush(PATIENCE_S)
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    with ShareAdmin(broker.address, GROUP) as group:
        group.configure(share_auto_offset_reset="earliest")


def wait_until(
    holds: Callable[[], bool], ledger: Ledger, workers: list[Worker]
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, len(ledger.accepted_s)
        assert not any(worker.bug for worker in workers)
        time.sleep(0.02)


def is_done(broker: BrokerProcess) -> bool:
    """Whether the group is through with everything."""
    with ShareAdmin(broker.address, GROUP) as group:
        return sum(each.start for each in group.places().values()) == RECORDS


def test_a_delivery_count_is_what_was_given_back(tmp_path: Path) -> None:
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(tmp_path / "data", *options) as broker:
        begin(broker)
        ledger = Ledger()
        workers = [Worker(broker.address, ledger, seed) for seed in range(MEMBERS)]
        try:
            for turn in range(1, KILLS + 1):
                count = RECORDS * turn // (KILLS + 1)
                wait_until(
                    lambda count=count: len(ledger.accepted_s) >= count,  # type: ignore[misc]
                    ledger,
                    workers,
                )
                broker.kill()
                broker.start()
            wait_until(lambda: is_done(broker), ledger, workers)
        finally:
            for worker in workers:
                worker.stop()
        assert ledger.faults == []
        assert len(ledger.processed) == RECORDS
        with ShareAdmin(broker.address, GROUP) as group:
            assert {each.lag for each in group.places().values()} == {0}
        assert "Traceback" not in broker.log()


def test_faults_would_be_seen() -> None:
    ledger = Ledger()
    taken = Taken(0, 1, 2, 1)
    ledger.note_taken(taken, time.monotonic())
    ledger.note_answered([taken._replace(last=1)], [taken._replace(first=2)])
    ledger.note_taken(taken, time.monotonic() + 1)
    assert ledger.faults[0] == "(0, 1) comes again"
    assert "(0, 2): delivery 1 is 2 to" in ledger.faults[1]
