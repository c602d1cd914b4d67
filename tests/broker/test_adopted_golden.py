"""Every directory that Apache Kafka wrote, adopted and served by a whole broker.

What clients are told is compared with what Kafka told them: before its stop, or,
where a directory was damaged, after it was started again on the damage. There we do
better: no more than the damaged batch is lost.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.durability.committer import Committer
from odradek.broker.node.server import Server
from odradek.broker.replica.logs.free_space import FreeSpace
from odradek.broker.upkeep.retention import Retention
from odradek.protocol.uuids import to_text
from tests.adopted import (
    GOLDEN,
    Consumer,
    Read,
    adopt_directories,
    ask,
    copy_case,
    serving,
    split,
)
from tests.fakes.clock import FakeClock

CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
# Kafka lost more than the damage, refused to start, or kept on lying.
BETTER_THAN_KAFKA = {
    "flip-active-middle",
    "flip-old-segment",
    "flip-last-batch-clean",
    "flip-last-batch-offset-below-base",
    "torn-tail-cut-half-clean",
}
# All of the cases tt are one log of 136 records; this one has nothing damaged.
WHOLE_TT = "hw-checkpoint-missing-clean"
DAY_MS = 86_400_000
CHECK_INTERVAL_MS = 300_000


class Case:
    """A case that was copied and adopted, and what Kafka said of it."""

    def __init__(self, name: str, tmp_path: Path) -> None:
        self.expected = copy_case(GOLDEN / name, tmp_path / name)
        self.directory = tmp_path / name / "log-dir"
        self.is_clean = (self.directory / ".kafka_cleanshutdown").exists()
        self.adoption = adopt_directories(self.directory)
        self.now_ms = int(self.expected["written_at_ms"]) + 1000

    @property
    def answers(self) -> dict[str, Any]:
        restart = self.expected.get("restart", {})
        answers = self.expected.get("partitions") or restart.get("partitions")
        assert isinstance(answers, dict)
        return answers

    @property
    def was_restarted(self) -> bool:
        return "restart" in self.expected

    def epoch(self, partition: str) -> int:
        """What Kafka had when it stopped; one more where it did not stop in order."""
        path = GOLDEN / self.expected["case"] / "log-dir" / partition
        file = path / "leader-epoch-checkpoint"
        lines = file.read_text().splitlines()[2:] if file.exists() else []
        newest = max((int(line.split()[0]) for line in lines), default=0)
        return newest if self.is_clean else newest + 1


@pytest.mark.parametrize("name", sorted(set(CASES) - BETTER_THAN_KAFKA))
async def test_an_adopted_directory_answers_as_kafka_did(
    name: str, tmp_path: Path
) -> None:
    case = Case(name, tmp_path)

    def compare(consumer: Consumer) -> None:
        compare_topics(consumer, case)
        for partition, answer in case.answers.items():
            compare_offsets(consumer, case, partition, answer)
            compare_records(consumer, partition, answer)

    async with serving(case.directory, now_ms=case.now_ms) as (server, _):
        await ask(server, compare)


def compare_topics(consumer: Consumer, case: Case) -> None:
    topics = consumer.topics()
    names = {split(partition)[0] for partition in case.answers}
    assert names <= topics.keys()
    for partition, answer in case.answers.items():
        name, number = split(partition)
        topic = topics[name]
        assert to_text(topic.topic_id) == answer.get(
            "topic_id", to_text(topic.topic_id)
        )
        assert topic.is_internal == (name in INTERNAL)
        (found,) = [each for each in topic.partitions if each.partition_index == number]
        assert found.error_code == 0
        assert found.leader_epoch == case.epoch(partition)
        if not case.was_restarted:
            kafkas = answer["offsets"]["latest"].get("leader_epoch", 0)
            assert found.leader_epoch == kafkas


INTERNAL = {"__consumer_offsets", "__transaction_state"}
PLACES = {
    "earliest": (-2, 0),
    "latest": (-1, 0),
    "latest_committed": (-1, 1),
    "max_timestamp": (-3, 0),
    "earliest_local": (-4, 0),
}


def compare_offsets(
    consumer: Consumer, case: Case, partition: str, answer: dict[str, Any]
) -> None:
    for place, (timestamp, isolation_level) in PLACES.items():
        if place not in answer["offsets"]:
            continue
        wanted = answer["offsets"][place]
        found = consumer.offset(partition, timestamp, isolation_level)
        assert (found.offset, found.timestamp) == (
            wanted["offset"],
            wanted["timestamp"],
        ), place
        if not case.was_restarted:
            assert found.leader_epoch == wanted.get("leader_epoch", -1), place
    start = answer["offsets"]["earliest"]["offset"]
    records = consumer.read(partition, start).records
    for text, wanted in answer.get("offsets_for_time", {}).items():
        at = consumer.offset(partition, int(text))
        found_at = [at.offset, at.timestamp]
        if wanted["offset"] < 0 and found_at != [-1, -1]:
            # After a cut, and in compacted segments, Kafka misses the newest ones.
            assert found_at == next(e[:2] for e in records if e[1] >= int(text))
        else:
            assert found_at == [wanted["offset"], wanted["timestamp"]]


def compare_records(consumer: Consumer, partition: str, answer: dict[str, Any]) -> None:
    start = answer["offsets"]["earliest"]["offset"]
    if "read_uncommitted" in answer:
        wanted = answer["read_uncommitted"]
        read = consumer.read(partition, start)
        assert read.records == wanted["records"]
        assert read.high_watermark == wanted["end"]
        assert read.log_start_offset == start
    if "read_committed" in answer:
        wanted = answer["read_committed"]
        read = consumer.read(partition, start, isolation_level=1)
        assert read.offsets == wanted["offsets"]
        assert read.last_stable_offset == wanted["end"]


def whole_tt() -> list[Any]:
    expected = json.loads((GOLDEN / WHOLE_TT / "expected.json").read_text())
    records = expected["restart"]["partitions"]["tt-0"]["read_uncommitted"]["records"]
    assert len(records) == 136
    assert isinstance(records, list)
    return records


async def read_tt(case: Case) -> Read:
    async with serving(case.directory, now_ms=case.now_ms) as (server, _):
        return await ask(server, lambda consumer: consumer.read("tt-0", 0))


@pytest.mark.parametrize("name", sorted(BETTER_THAN_KAFKA))
async def test_no_more_than_the_damaged_batch_is_lost(
    name: str, tmp_path: Path
) -> None:
    case = Case(name, tmp_path)
    damaged = damaged_offsets(case)
    wanted = [record for record in whole_tt() if record[0] not in damaged]
    assert len(wanted) >= 133
    for _ in range(2):  # and the same after one more start
        read = await read_tt(case)
        assert [without_epoch(each) for each in read.records] == [
            without_epoch(each) for each in wanted
        ]
        end = 136 if wanted[-1][0] == 135 or case.is_clean else 135
        assert read.high_watermark == read.last_stable_offset == end


def damaged_offsets(case: Case) -> range:
    mutation = case.expected["mutation"]
    first = mutation.get("batch_base_offset", mutation.get("last_batch_base_offset"))
    assert isinstance(first, int)
    batches = [
        batch
        for name, file in case.expected["on_disk"]["tt-0"].items()
        if name.endswith(".log")
        for batch in file
    ]
    nexts = [
        each["baseOffset"] for each in batches if each.get("baseOffset", -1) > first
    ]
    return range(first, min(nexts, default=136))


def without_epoch(record: list[Any]) -> list[Any]:
    return [*record[:3], *record[4:]]


@pytest.mark.parametrize(
    "name", ["codecs-java", "plain-size-roll", "transaction-state", "txn-interleaved"]
)
async def test_what_is_old_is_kept_over_ten_retention_checks(
    name: str, tmp_path: Path
) -> None:
    case = Case(name, tmp_path)
    before = {path: path.stat().st_size for path in case.directory.rglob("*.log")}
    now_ms = case.now_ms + 30 * DAY_MS
    # A transaction that was open for a month would be aborted, and written to, and an
    # id that nobody used be forgotten, as soon as somebody looks.
    later = {
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": DAY_MS,
        "transaction_remove_expired_transaction_cleanup_interval_ms": DAY_MS,
    }
    async with serving(case.directory, now_ms=now_ms, **later) as (server, clock):
        await check_retention(server, clock, times=10)

        def compare(consumer: Consumer) -> None:
            for partition, answer in case.answers.items():
                compare_records(consumer, partition, answer)

        await ask(server, compare)
    assert {path: path.stat().st_size for path in before} == before


async def test_what_is_old_goes_where_the_operator_says_so(tmp_path: Path) -> None:
    copy_case(GOLDEN / "plain-size-roll", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    adoption = adopt_directories(directory, overrides={"*": {"retention.ms": "1000"}})
    (topic,) = adoption.topics
    async with serving(directory, now_ms=4_000_000_000_000) as (server, clock):
        await check_retention(server, clock, times=1)
        start = await ask(server, lambda c: c.offset(f"{topic.name}-0", -2).offset)
    assert start == 200


async def check_retention(server: Server, clock: FakeClock, times: int) -> None:
    """The periodic job, when every log is open."""
    services = server.services
    await services.replica_manager.open_all()
    committer = services.committer
    assert isinstance(committer, Committer)
    retention = Retention(
        clock,
        services.log_manager,
        committer,
        services.disk_threads,
        FreeSpace(server.config.log_dirs, 0),
        services.bugs,
    )
    for _ in range(times):
        clock.advance(CHECK_INTERVAL_MS)
        await retention.delete_segments()
        await retention.remove_files()


SIDE_FILES = [
    "*-0/*.index",
    "*-0/*.timeindex",
    "*-0/*.txnindex",
    "*-0/*.snapshot",
    "*-0/leader-epoch-checkpoint",
    "*-0/partition.metadata",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    ".kafka_cleanshutdown",
]


# A segment without an aborted transaction has no such file: that it was there is not
# known, in Kafka neither. Where the log is recovered it is made anew.
UNNOTICED = {("*-0/*.txnindex", "removed")}


@pytest.mark.parametrize("name", ["plain-size-roll", "txn-interleaved"])
@pytest.mark.parametrize("damage", ["removed", "emptied", "noise"])
@pytest.mark.parametrize("pattern", SIDE_FILES)
async def test_files_beside_the_log_may_be_damaged(
    pattern: str, damage: str, name: str, tmp_path: Path
) -> None:
    expected = copy_case(GOLDEN / name, tmp_path / name)
    directory = tmp_path / name / "log-dir"
    for path in directory.glob(pattern):
        if damage == "removed":
            path.unlink()
        else:
            size = path.stat().st_size if damage == "noise" else 0
            path.write_bytes(bytes([0xFF]) * size)
    if (pattern, damage) in UNNOTICED:
        (directory / ".kafka_cleanshutdown").unlink()
        (directory / "recovery-point-offset-checkpoint").unlink()
    adopt_directories(directory)

    def compare(consumer: Consumer) -> None:
        for partition, answer in expected["partitions"].items():
            compare_records(consumer, partition, answer)
            for text, wanted in answer.get("offsets_for_time", {}).items():
                assert consumer.offset(partition, int(text)).offset == wanted["offset"]

    now_ms = int(expected["written_at_ms"]) + 1000
    async with serving(directory, now_ms=now_ms) as (server, _):
        await ask(server, compare)
