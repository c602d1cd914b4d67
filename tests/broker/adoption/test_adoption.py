import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from odradek.broker.adoption.adoption import Adoption
from odradek.broker.adoption.metadata import AdoptionError
from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.protocol.uuids import to_text
from odradek.storage.directory.log_directory import DirectoryInUse
from tests.adopted import (
    GOLDEN,
    METADATA_GOLDEN,
    Consumer,
    adopt_directories,
    ask,
    copy_case,
    serving,
)

CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
METADATA_CASES = ["snapshot", "topics"]
ROUNDS = 50 if os.environ.get("ODRADEK_LONG") else 2
OURS = {"catalog.db", "catalog.backup"}


def log_dirs(case: Path) -> list[Path]:
    return sorted(case.glob("log-dir*"))


def adopted(name: str, tmp_path: Path, **options: Any) -> tuple[Adoption, Any]:
    expected = copy_case(METADATA_GOLDEN / name, tmp_path / name)
    return adopt_directories(*log_dirs(tmp_path / name), **options), expected


def everything(directory: Path) -> dict[Path, tuple[int, bytes | None]]:
    """Every file and directory: when it changed, and what is in it."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in (directory, *directory.rglob("*"))
        if path.name not in OURS
    }


@pytest.mark.parametrize("name", CASES)
def test_nothing_but_the_catalogue_is_written(name: str, tmp_path: Path) -> None:
    copy_case(GOLDEN / name, tmp_path / name)
    (directory,) = log_dirs(tmp_path / name)
    (directory / ".lock").write_text("")
    before = everything(directory)
    adopt_directories(directory, is_dry_run=True)
    assert everything(directory) == before
    assert not any((directory / each).exists() for each in OURS)
    adopt_directories(directory)
    after = everything(directory)
    del before[directory], after[directory]  # it has two names more
    assert after == before
    assert all((directory / each).exists() for each in OURS)


@pytest.mark.parametrize("name", METADATA_CASES)
def test_topics_are_those_of_kafkas_own_metadata(name: str, tmp_path: Path) -> None:
    adoption, expected = adopted(name, tmp_path)
    image = expected["image"]
    assert adoption.next_producer_id == image["next_producer_id"]
    assert {topic.name: to_text(topic.topic_id) for topic in adoption.topics} == {
        topic: told["topic_id"] for topic, told in image["topics"].items()
    }
    for topic in adoption.topics:
        told = image["topics"][topic.name]["partitions"]
        assert {
            str(each.partition): each.leader_epoch for each in topic.partitions
        } == {number: each["leader_epoch"] for number, each in told.items()}
        options = {
            option: value
            for kind, resource, option, value in image["configs"]
            if kind == 2 and resource == topic.name
        }
        assert topic.options == options


def test_what_was_set_for_a_broker_is_told(tmp_path: Path) -> None:
    adoption, _ = adopted("topics", tmp_path)
    told = "\n".join(adoption.notes)
    assert "broker option log.retention.ms=1209600000 is the broker's here, too" in told
    options = adoption.resources.options
    assert (
        options[Resource(ResourceKind.BROKER, "")]["log.retention.ms"] == "1209600000"
    )
    assert "again-0.e9fb64dfba774631a7a072582d048715-delete is left as it is" in told


@pytest.mark.parametrize("name", METADATA_CASES)
async def test_what_was_adopted_with_metadata_is_served(
    name: str, tmp_path: Path
) -> None:
    adoption, expected = adopted(name, tmp_path)
    assert adoption.node_id == 7

    def compare(consumer: Consumer) -> None:
        topics = consumer.topics()
        assert topics.keys() == expected["answered"].keys()
        for topic, answer in expected["answered"].items():
            assert topics[topic].is_internal == answer["is_internal"]
            for number, ends in enumerate(answer["offsets"]):
                partition = f"{topic}-{number}"
                found = [consumer.offset(partition, place).offset for place in (-2, -1)]
                assert found == ends
                consumer.read(partition, ends[0])

    directories = log_dirs(tmp_path / name)
    now_ms = expected["written_at_ms"] + 1000
    async with serving(*directories, now_ms=now_ms) as (server, _):
        await ask(server, compare)
        assert server.services.node_id == 7
        assert (await server.services.metadata.allocate_producer_id_block())[0] == 3000


def test_without_metadata_everything_is_kept(tmp_path: Path) -> None:
    overrides = {"orders": {"retention.ms": "5"}, "*": {"retention.bytes": "9"}}
    adoption, expected = adopted(
        "topics", tmp_path, reads_metadata=False, overrides=overrides
    )
    keep = {"retention.ms": "-1", "retention.bytes": "9"}
    for topic in adoption.topics:
        told = expected["answered"][topic.name]
        assert to_text(topic.topic_id) == told["topic_id"]
        assert [each.leader_epoch for each in topic.partitions] == told["leader_epochs"]
        assert topic.options == (
            keep
            | ({"cleanup.policy": "compact"} if told["is_internal"] else {})
            | ({"retention.ms": "5"} if topic.name == "orders" else {})
        )
    assert adoption.next_producer_id == 2005


def test_a_partition_in_a_directory_that_is_not_given_is_offline(
    tmp_path: Path,
) -> None:
    expected = copy_case(METADATA_GOLDEN / "topics", tmp_path / "topics")
    adoption = adopt_directories(tmp_path / "topics" / "log-dir-1")
    (orders,) = [topic for topic in adoption.topics if topic.name == "orders"]
    assert len(orders.partitions) == 5
    there = expected["image"]["topics"]["orders"]["partitions"]["1"]["directories"][0]
    told = f"orders-1 is offline: it is in the log directory with id {there}"
    assert told in adoption.notes
    assert orders.partitions[1].log_dir is None
    assert orders.partitions[1].is_written


async def test_what_is_offline_is_so_for_clients_until_it_is_there(
    tmp_path: Path,
) -> None:
    expected = copy_case(METADATA_GOLDEN / "topics", tmp_path / "topics")
    first, second = log_dirs(tmp_path / "topics")
    adopt_directories(first)

    def errors(consumer: Consumer) -> dict[int, int]:
        partitions = consumer.topics()["orders"].partitions
        return {each.partition_index: each.error_code for each in partitions}

    now_ms = expected["written_at_ms"]
    async with serving(first, now_ms=now_ms) as (server, _):
        assert await ask(server, errors) == {0: 0, 1: 5, 2: 0, 3: 0, 4: 5}
    async with serving(first, second, now_ms=now_ms) as (server, _):
        assert await ask(server, errors) == dict.fromkeys(range(5), 0)
        ends = await ask(server, lambda c: c.offset("orders-1", -1).offset)
        assert [0, ends] == expected["answered"]["orders"]["offsets"][1]


def test_metadata_may_lie_elsewhere(tmp_path: Path) -> None:
    copy_case(METADATA_GOLDEN / "topics", tmp_path / "topics")
    first, second = log_dirs(tmp_path / "topics")
    elsewhere = tmp_path / "controller"
    elsewhere.mkdir()
    shutil.move(first / "__cluster_metadata-0", elsewhere)
    for place in (elsewhere, elsewhere / "__cluster_metadata-0"):
        adoption = adopt_directories(
            first, second, metadata_path=place, is_dry_run=True
        )
        assert adoption.next_producer_id == 3000
    with pytest.raises(AdoptionError, match="there is no __cluster_metadata-0 in"):
        adopt_directories(first, second, metadata_path=tmp_path)
    shutil.copy(GOLDEN / "idempotent/log-dir/meta.properties", elsewhere)
    with pytest.raises(AdoptionError, match="are those of cluster b2RyYWRlay1yZWZ"):
        adopt_directories(first, second, metadata_path=elsewhere)


def test_a_partition_without_its_id_is_kept(tmp_path: Path) -> None:
    expected = copy_case(GOLDEN / "idempotent", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    (partition,) = expected["partitions"]
    (directory / partition / "partition.metadata").unlink()
    adoption = adopt_directories(directory)
    (topic,) = adoption.topics
    assert topic.partitions[0].is_written
    told = "\n".join(adoption.notes)
    assert f"{directory / partition} has no partition.metadata; it is kept" in told
    assert f"gets the new id {to_text(topic.topic_id)}" in told


def test_an_id_that_is_missing_is_taken_from_the_metadata(tmp_path: Path) -> None:
    expected = copy_case(METADATA_GOLDEN / "snapshot", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    (directory / "events-0" / "partition.metadata").unlink()
    (directory / "events-1" / "partition.metadata").write_bytes(b"\0" * 40)
    adoption = adopt_directories(directory)
    (events,) = [topic for topic in adoption.topics if topic.name == "events"]
    assert to_text(events.topic_id) == expected["answered"]["events"]["topic_id"]
    assert all(each.log_dir == directory for each in events.partitions)


def test_partitions_of_different_topics_are_refused(tmp_path: Path) -> None:
    copy_case(METADATA_GOLDEN / "topics", tmp_path / "case")
    first, second = log_dirs(tmp_path / "case")
    other = first / "again-0" / "partition.metadata"
    shutil.copy(other, second / "orders-1" / "partition.metadata")
    with pytest.raises(AdoptionError, match="orders have different topic ids"):
        adopt_directories(first, second, reads_metadata=False)
    # With metadata it is known which of them it is.
    adoption = adopt_directories(first, second)
    assert (
        f"{second / 'orders-1'} belongs to no topic in the metadata; it is left as"
        in ("\n".join(adoption.notes))
    )
    assert "orders-1 is offline: its directory is missing" in adoption.notes


def test_a_directory_of_a_running_broker_is_refused(tmp_path: Path) -> None:
    copy_case(GOLDEN / "idempotent", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    (directory / ".lock").write_text("")
    holder = os.open(directory / ".lock", os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with pytest.raises(DirectoryInUse, match="is in use by a broker"):
            adopt_directories(directory)
    finally:
        os.close(holder)
    adopt_directories(directory)


def test_a_second_adoption_is_refused(tmp_path: Path) -> None:
    copy_case(GOLDEN / "idempotent", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    adopt_directories(directory)
    with pytest.raises(AdoptionError, match=r"has a catalogue already \(catalog.db\)"):
        adopt_directories(directory)


def test_the_catalogue_may_lie_elsewhere(tmp_path: Path) -> None:
    copy_case(GOLDEN / "idempotent", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    elsewhere = tmp_path / "new" / "catalogue"
    adopt_directories(directory, catalog_directory=elsewhere)
    store = CatalogStore(elsewhere / "catalog.db")
    assert store.fact("cluster_id") == "b2RyYWRlay1yZWZlcmVuYw"
    assert [row.name for row in store.topics()]
    store.close()
    with pytest.raises(AdoptionError, match="has a catalogue already"):
        adopt_directories(directory, catalog_directory=elsewhere)


def test_a_partition_of_other_brokers_begins_empty(tmp_path: Path) -> None:
    copy_case(METADATA_GOLDEN / "topics", tmp_path / "case")
    directories = log_dirs(tmp_path / "case")
    for directory in directories:  # another broker of the same cluster, without data
        text = (directory / "meta.properties").read_text()
        (directory / "meta.properties").write_text(text.replace("=7", "=8"))
    shutil.rmtree(directories[1] / "orders-1")
    adoption = adopt_directories(*directories)
    assert "orders-1 was on other brokers only; it begins empty" in adoption.notes


def test_holes_between_directories_begin_empty(tmp_path: Path) -> None:
    copy_case(METADATA_GOLDEN / "topics", tmp_path / "case")
    adoption = adopt_directories(tmp_path / "case" / "log-dir-1", reads_metadata=False)
    assert "orders-1 has no directory; it begins empty" in adoption.notes
    (orders,) = [topic for topic in adoption.topics if topic.name == "orders"]
    assert [each.is_written for each in orders.partitions] == [True, False, True, True]


def test_options_of_no_topic_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AdoptionError, match="there is no topic ordres"):
        adopted("topics", tmp_path, overrides={"ordres": {"retention.ms": "5"}})


def test_a_directory_given_twice_is_refused(tmp_path: Path) -> None:
    copy_case(GOLDEN / "idempotent", tmp_path / "case")
    directory = tmp_path / "case" / "log-dir"
    with pytest.raises(AdoptionError, match="given twice"):
        adopt_directories(directory, directory / ".." / "log-dir")


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_whatever_byte_is_wrong_there_is_an_answer(
    seed: int, damaged_case: list[Path]
) -> None:
    """Adopted or refused, and nothing else."""
    random = Random(seed)
    directory, *files = damaged_case
    for path in files:
        data = path.read_bytes()
        path.write_bytes(damaged(random, data))
        try:
            with contextlib.suppress(AdoptionError):
                assert adopt_directories(directory, is_dry_run=True).cluster_id
        finally:
            path.write_bytes(data)


@pytest.fixture(scope="module")
def damaged_case(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A log directory, and the files in it that an adoption reads."""
    case = tmp_path_factory.mktemp("damaged") / "case"
    copy_case(METADATA_GOLDEN / "snapshot", case)
    kinds = (".log", ".checkpoint", ".snapshot", ".metadata", ".properties")
    files = [
        path
        for path in sorted((case / "log-dir").rglob("*"))
        if path.suffix in kinds or path.name == "leader-epoch-checkpoint"
    ]
    return [case / "log-dir", *files]


def damaged(random: Random, data: bytes) -> bytes:
    if not data or random.random() < 0.2:
        return data[: random.randrange(len(data) + 1)]
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 8))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)
