"""Kafka Streams 4.3 with ``group.protocol=streams`` (KIP-1071) on this broker."""

import random
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import TracebackType

import pytest

from odradek.client.cluster import Cluster
from odradek.client.fetcher import Fetcher
from odradek.client.groups import describe_group
from odradek.client.producer import Producer
from odradek.client.record_reader import read_records
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka import jars
from tests.apache_kafka.java_client import compiled
from tests.broker_process import running_broker
from tests.client.live import connected, create_topic
from tests.patience import PATIENCE_S

APPLICATION = "words"
PARTITIONS = 3
LINES = 60
WORDS = [f"word-{number}" for number in range(12)]
# So that a killed instance is not waited for long.
OPTIONS = {
    "group.streams.session.timeout.ms": "3000",
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


class Instances:
    """Two instances of an application that counts words, in processes of their own."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        self._folder = folder
        self._processes = [self._start(0), self._start(1)]

    def __enter__(self) -> "Instances":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in self._processes:
            each.kill()
            each.wait(PATIENCE_S)

    def kill(self, number: int) -> None:
        """Kill one with -9, and start it again in the same folder."""
        self._processes[number].kill()
        self._processes[number].wait(PATIENCE_S)
        self._processes[number] = self._start(number)

    def check(self) -> None:
        """See that none has ended by itself."""
        for number, each in enumerate(self._processes):
            assert each.poll() is None, self._log(number).read_text()[-5000:]

    def _log(self, number: int) -> Path:
        return self._folder / f"instance-{number}.log"

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        state = self._folder / f"state-{number}"
        arguments = (self._address, APPLICATION, "lines", "counts", str(state))
        with self._log(number).open("ab") as log:
            return subprocess.Popen(
                jars.java("Words", *arguments, classes=compiled()),
                stdout=log,
                stderr=subprocess.STDOUT,
            )


class Account:
    """The words that were written, and the counts that are read of them."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._written: Counter[str] = Counter()
        self._fetcher = Fetcher(cluster, committed=True)
        places = [TopicPartition("counts", number) for number in range(PARTITIONS)]
        self._offsets = dict.fromkeys(places, 0)
        self.read: dict[str, list[int]] = {}

    def write(self) -> None:
        """Write lines of random words."""
        now_ms = time.time_ns() // 1_000_000
        with Producer(self._cluster) as producer:
            for number in range(LINES):
                words = self._random.choices(WORDS, k=3)
                self._written.update(words)
                line = NewRecord(None, " ".join(words).encode(), now_ms)
                producer.send("lines", line, number % PARTITIONS)

    def look(self) -> int:
        """Read what is committed. Returns how many words are counted."""
        for place, fetched in self._fetcher.fetch_many(self._offsets).items():
            offset = self._offsets[place]
            for record in read_records(fetched, offset, committed=True):
                assert record.key is not None
                assert record.value is not None
                word = bytes(record.key).decode()
                self.read.setdefault(word, []).append(int(bytes(record.value)))
            self._offsets[place] = fetched.next_offset(offset)
        return sum(map(len, self.read.values()))

    def wait_for(self, count: int, instances: Instances) -> None:
        """Wait until so many words are counted; all of them, if there are fewer."""
        wanted = min(count, self._written.total())
        deadline = time.monotonic() + PATIENCE_S
        while self.look() < wanted:
            instances.check()
            assert time.monotonic() < deadline, (self.look(), wanted)

    @property
    def right(self) -> dict[str, list[int]]:
        """Each word is counted up, one by one."""
        return {
            word: list(range(1, count + 1)) for word, count in self._written.items()
        }


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.long)])
def test_g041_each_word_is_counted_exactly_once(tmp_path: Path, kills: int) -> None:
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with (
        running_broker(tmp_path / "data", *options) as broker,
        connected(broker.port) as cluster,
    ):
        for name in ("lines", "counts"):
            create_topic(cluster, name, PARTITIONS)
        account = Account(cluster, kills)
        with Instances(broker.address, tmp_path) as instances:
            account.write()
            account.wait_for(1, instances)
            for number in range(kills):
                account.write()
                instances.kill(number % 2)
                account.wait_for((number + 1) * 3 * LINES + 1, instances)
            account.write()
            account.wait_for((kills + 2) * 3 * LINES, instances)
            account.look()
            assert account.read == account.right
        group = describe_group(cluster, APPLICATION)
        assert (group.group_type, group.missing_topics) == ("streams", [])
        assert "Traceback" not in broker.log()
