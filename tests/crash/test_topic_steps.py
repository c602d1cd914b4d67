"""A kill, or a power cut, at every step of making, deleting and re-making a topic.

The steps are the calls to the file system and the commits of the catalogue. After each
the next broker must know the topic or not, as it was told, with all its records; and
nothing may be left that belongs to nobody.
"""

import copy
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.broker.handlers.topics.topic_deletion import (
    delete_topics,
    finish_deletions,
    finish_interrupted,
)
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directory import DirectoryKind, parse_directory_name
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

A0 = TopicPartition("a", 0)
STRIDE = 1 if os.environ.get("ODRADEK_LONG") else 5


class Told(NamedTuple):
    """What the client was told. ``is_asking``: its last change is not answered."""

    generation: int = 0
    acknowledged: int = 0
    is_there: bool = False
    is_asking: bool = False


class Moment(NamedTuple):
    """The disk and the catalogue between two steps."""

    root: object
    catalog: Path
    told: Told


class Recording(FakeFiles):
    """Keeps a moment before every call that changes something."""

    def __init__(self, catalog: Path, kept: Path) -> None:
        super().__init__()
        self.catalog, self.kept = catalog, kept
        self.told = Told()
        self.moments: list[Moment] = []
        self.step_count = 0

    def called(self, operation: str, path: Path) -> None:
        if operation not in ("read", "map", "listdir", "read_bytes"):
            self.note_step()
        super().called(operation, path)

    def note_step(self) -> None:
        self.step_count += 1
        if self.step_count % STRIDE:
            return
        target = self.kept / str(self.step_count)
        target.mkdir(parents=True)
        for name in (CATALOG, f"{CATALOG}-wal", BACKUP):
            if (self.catalog / name).exists():
                shutil.copy(self.catalog / name, target / name)
        self.moments.append(Moment(copy.deepcopy(self._root), target, self.told))


async def live(broker: Replicas, files: Recording) -> None:
    """Make, fill and delete a topic, twice; then make and fill it once more."""
    for generation in (1, 2, 3):
        files.told = Told(generation, is_asking=True)
        await broker.create_topic("a", 2)
        files.told = Told(generation, is_there=True)
        for count in (1, 2):
            entries = {A0: batch_of(b"%d" % generation)}
            future = broker.manager.append_records(entries, acks=-1, timeout_ms=30_000)
            await broker.commit()
            assert (await future)[A0].error_code == 0
            files.told = files.told._replace(acknowledged=count)
        if generation == 3:
            return
        files.told = files.told._replace(is_asking=True)
        topic = broker.topics.known("a")
        await delete_topics(broker.services, [topic.topic_id])
        files.told = Told(generation)
        if generation == 1:
            remove_all(broker)
            await finish_deletions(broker.services)


async def load_groups(broker: Replicas) -> None:
    """A deleted topic is forgotten with its offsets: they must be known."""
    broker.services.groups.load_all()
    await broker.services.groups.runtime.loaded()


def remove_all(broker: Replicas) -> None:
    job = broker.logs.removal_job(1 << 60)
    if job is not None:
        job()


async def check(moment: Moment, *, is_power_cut: bool, scratch: Path) -> None:
    """What the next broker finds is what the client was told, or just asked for."""
    files = FakeFiles()
    files._root = copy.deepcopy(moment.root)  # type: ignore[assignment]
    if is_power_cut:
        files.power_cut()
    shutil.copytree(moment.catalog, scratch)
    told = moment.told
    async with replicas(scratch, files) as broker:
        await load_groups(broker)
        finish_interrupted(broker.topics, broker.logs)
        topic = broker.topics.get("a")
        if not told.is_asking:
            assert (topic is not None) == told.is_there
        if topic is not None:
            await broker.manager.open([A0])
            assert not broker.topics.offline
            values = values_of(broker)
            assert set(values) <= {b"%d" % told.generation}
            assert told.acknowledged <= len(values) <= told.acknowledged + 1
        else:
            await broker.create_topic("a")
        entries = {A0: batch_of(b"next")}
        future = broker.manager.append_records(entries, acks=-1, timeout_ms=30_000)
        await broker.commit()
        assert (await future)[A0].error_code == 0
        remove_all(broker)
        await finish_deletions(broker.services)
        assert broker.topics.deletions == {}
        assert strangers(files) == []


def values_of(broker: Replicas) -> list[bytes | None]:
    log = broker.logs.get(A0)
    if log is None:
        return []
    values = []
    for offset in range(log.log_end_offset):
        batch = log.read(offset, 1).records
        values += [record.value for record in iterate(memoryview(batch))]
    return values


def strangers(files: FakeFiles) -> list[str]:
    """Partition directories that are not those of the topic."""
    found = []
    for name in files.listdir(LOG_DIR):
        parsed = parse_directory_name(name)
        if parsed is not None and (
            parsed.kind is not DirectoryKind.LOG or parsed.topic_partition.topic != "a"
        ):
            found.append(name)
    return found


@pytest.mark.parametrize("is_power_cut", [False, True], ids=["kill", "power cut"])
async def test_a_topic_is_made_deleted_and_made_anew_through_every_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_power_cut: bool
) -> None:
    catalog = tmp_path / "catalog"
    files = Recording(catalog, tmp_path / "moments")
    files.mkdir(LOG_DIR)
    files.sync_directory(LOG_DIR.parent)
    transaction = CatalogStore._transaction

    def stepped(store: CatalogStore) -> object:
        if store.path.parent == catalog:
            files.note_step()
        return transaction(store)

    monkeypatch.setattr(CatalogStore, "_transaction", stepped)
    async with replicas(catalog, files, stops_cleanly=False) as broker:
        await load_groups(broker)
        files.moments.clear()
        await live(broker, files)
        files.note_step()
        moments = list(files.moments)
    assert len(moments) > 100 / STRIDE
    for number, moment in enumerate(moments):
        scratch = tmp_path / "scratch" / str(number)
        scratch.parent.mkdir(exist_ok=True)
        await check(moment, is_power_cut=is_power_cut, scratch=scratch)
