"""R4: any byte of the files of a log directory wrong, zero, random or missing.

What is in a partition's own directory is damaged in `test_log_loader_damage`. Here are
the checkpoints, the identity, the marker of a clean stop, the topic id and the
quarantine. Kafka's checkpoints have no checksum: a digit that became another is
believed. Then records may be hidden, but none is made up, and none is moved.
"""

import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from odradek.protocol.errors import InconsistentTopicId, KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directory import BadLogDirectory
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.crash.session import CONFIG, NOW, ROOT, NoLock
from tests.fakes.files import FakeFiles
from tests.storage.logs import produce, read_all, sync

STEP = 1 if os.environ.get("ODRADEK_LONG") else 7
PARTITION, TOPIC_ID = TopicPartition("topic", 0), bytes(range(16))
CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
FILES = {
    "recovery-point-offset-checkpoint": "recovery points",
    "log-start-offset-checkpoint": "log starts",
    "replication-offset-checkpoint": "high watermarks",
    "meta.properties": "identity",
    ".kafka_cleanshutdown": "marker",
    "partition.metadata": "topic id",
    "quarantine": "quarantine",
    "leader-epoch-checkpoint": "epochs",
}
DAMAGED = 12  # the base offset of a batch


def manager_on(files: FakeFiles) -> LogManager:
    manager = LogManager(
        [ROOT], files, cluster_id=CLUSTER_ID, node_id=1, take_lock=NoLock
    )
    manager.open()
    return manager


@cache
def whole(is_clean: bool) -> tuple[FakeFiles, dict[int, bytes | None]]:
    """A disk, and the records on it: several segments, a damaged batch, a start."""
    files = FakeFiles()
    manager = manager_on(files)
    log = manager.create(PARTITION, TOPIC_ID, CONFIG, None, NOW)
    for number in range(12):
        produce(log, 3, value=b"%d" % number, leader_epoch=number // 4)
    segment = log.local.segments.floor(DAMAGED)
    assert segment is not None
    found = segment.reader.find(DAMAGED)
    assert found is not None
    manager.close()
    files.flip(segment.log.path, found[0] + 70)
    manager = manager_on(files)
    log = manager.load(PARTITION, TOPIC_ID, CONFIG, NOW)
    manager.register(log)
    records = values(log)
    assert records.keys() == set(range(36)) - {12, 13, 14}
    assert len(log.damage) == 1
    log.increment_log_start(4)
    manager.log_starts_job([ROOT])()
    manager.checkpoint_job()()
    produce(log, 3, value=b"last", leader_epoch=3)
    sync(log)
    if is_clean:
        manager.close()
    return files, records | {each: b"last" for each in (36, 37, 38)}


def values(log: UnifiedLog) -> dict[int, bytes | None]:
    return {each.offset: each.value for each in read_all(log, FetchIsolation.LOG_END)}


def damaged_contents(content: bytes, chance: random.Random) -> Iterator[bytes]:
    for at in range(0, len(content) + 1, STEP):
        yield content[:at]
        yield content[:at] + bytes(len(content) - at)
        yield content[:at] + chance.randbytes(len(content) - at)
        if at < len(content):
            flipped = bytes([content[at] ^ 1 << at % 8])
            yield content[:at] + flipped + content[at + 1 :]


def with_content(original: FakeFiles, path: Path, content: bytes | None) -> FakeFiles:
    files = FakeFiles()
    for each in original.paths():
        if each != path:
            files.put(each, original.content(each))
        elif content is not None:
            files.put(each, content)
    return files


def path_of(files: FakeFiles, name: str) -> Path | None:
    return next((each for each in files.paths() if each.name == name), None)


@pytest.mark.parametrize("is_clean", [False, True], ids=["killed", "stopped"])
@pytest.mark.parametrize("name", FILES, ids=FILES.values())
def test_r4_any_byte_of_a_directorys_files(name: str, is_clean: bool) -> None:
    original, records = whole(is_clean)
    path = path_of(original, name)
    if path is None:
        assert name == ".kafka_cleanshutdown"
        return
    chance = random.Random(7)
    for content in (None, *damaged_contents(original.content(path), chance)):
        try:
            check(with_content(original, path, content), name, records)
        except Exception as error:
            error.add_note(f"{name}: {content!r}")
            raise


def check(files: FakeFiles, name: str, records: dict[int, bytes | None]) -> None:
    try:
        manager = manager_on(files)
    except (BadLogDirectory, KafkaStorageError):
        assert name == "meta.properties"
        return
    try:
        log = manager.load(PARTITION, TOPIC_ID, CONFIG, NOW)
    except InconsistentTopicId:
        assert name == "partition.metadata"
        return
    manager.register(log)
    found = values(log)
    assert found.items() <= records.items()
    if name != "log-start-offset-checkpoint":
        assert log.log_start_offset == 4
        assert found.keys() == {each for each in records if each >= 4}
    else:
        start = log.log_start_offset
        assert found.keys() == {each for each in records if each >= start}
    assert log.log_end_offset >= max(records) + 1
    offset = produce(log, 1, value=b"more", leader_epoch=9).base_offset
    sync(log)
    assert values(log) == found | {offset: b"more"}
    assert manager.close()
