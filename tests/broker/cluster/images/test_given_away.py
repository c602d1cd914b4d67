from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.broker.cluster.images.given_away import GivenAway
from odradek.broker.handlers.topics.topic_deletion import delete_topics
from odradek.broker.metadata.topic import NewTopic
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.files.files import DiskFull
from odradek.storage.files.meta_properties import META_PROPERTIES_NAME
from odradek.storage.values.log_read import FetchIsolation
from tests.broker.cluster.fetchers.rig import LEADER, T0, Rig, rig_of
from tests.broker.mirror.rig import SourceLog
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, full_catalog, replicas


def given_away(broker: Replicas) -> GivenAway:
    services = broker.services
    return GivenAway(
        broker.topics,
        broker.manager,
        broker.logs,
        services.committer,
        broker.threads,
        broker.clock,
    )


async def with_a_record(broker: Replicas) -> Rig:
    rig = await rig_of(broker)
    rig.leader.append(b"deleted since", epoch=3)
    await rig.step(2)
    assert is_written(broker)
    return rig


def is_written(broker: Replicas) -> bool:
    info = broker.topics.partition(T0)
    assert info is not None
    return info.written


def names(files: FakeFiles) -> set[str]:
    found = {each.relative_to(LOG_DIR).parts[0] for each in files.paths()}
    return {each for each in found if each.startswith("t-0")}


async def test_who_comes_back_begins_anew(tmp_path: Path) -> None:
    """What compaction has removed at the others is not there again."""
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        await given_away(broker).take_away([T0], keeps=False)
        assert not broker.logs.has_directory(T0)
        assert not is_written(broker)
        assert broker.logs.unremoved_partitions == {T0}
        rig.leader.log = SourceLog()
        rig.leader.append(b"b", epoch=4, offset=1)
        rig.decide(LEADER, 5)
        await rig.step(2)
        read = rig.partition.view.read(0, 1 << 20, FetchIsolation.LOG_END, True, True)
        assert bytes(read.records) == rig.leader.log.data
        assert is_written(broker)


async def test_a_start_misses_nothing_of_what_others_have(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        await given_away(broker).take_away([T0], keeps=False)
    async with replicas(tmp_path, files) as broker:
        assert not broker.topics.offline
        await given_away(broker).take_away([T0], keeps=False)  # nothing is there


async def test_what_a_start_finds_is_kept(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await with_a_record(broker)
    async with replicas(tmp_path, files) as broker:
        await given_away(broker).take_away([T0], keeps=True)
        assert not broker.logs.has_directory(T0)
        assert not is_written(broker)
        assert not broker.logs.unremoved_partitions
    (kept,) = names(files)
    assert kept.endswith("-stray")


async def test_a_topic_that_the_cluster_has_no_more_is_kept_at_a_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await with_a_record(broker)
    async with replicas(tmp_path, files) as broker:
        await broker.topics.create_topic("never-written", 1)
        topics = list(broker.topics)
        assert await given_away(broker).set_topics_aside(topics) == topics
        assert not broker.logs.has_directory(T0)
        assert not is_written(broker)
    (kept,) = names(files)
    assert kept.endswith("-stray")
    (said,) = [x.getMessage() for x in caplog.records if "not have" in x.getMessage()]
    assert said.endswith("-stray: t")


async def test_a_topic_that_cannot_be_set_aside_is_not_deleted_yet(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await with_a_record(broker)
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        files.fail("rename")
        assert await given_away(broker).set_topics_aside(list(broker.topics)) == []
        files.heal()
        assert broker.logs.has_directory(T0)


async def test_whose_directory_was_lost_before_is_not_missed(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await with_a_record(broker)
    files.rmtree(LOG_DIR / str(T0))
    async with replicas(tmp_path, files) as broker:
        assert broker.topics.offline == {T0}
        await given_away(broker).take_away([T0], keeps=True)
        assert not broker.topics.offline
        assert not is_written(broker)


async def test_the_log_of_another_topic_of_that_name_stays(tmp_path: Path) -> None:
    files = FakeFiles()
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    async with replicas(one, files) as broker:
        await with_a_record(broker)
    files.unlink(LOG_DIR / META_PROPERTIES_NAME)
    async with replicas(two, files) as broker:
        await broker.create_topic()
        assert broker.topics.strangers == {T0}
        await given_away(broker).take_away([T0], keeps=True)
    assert names(files) == {"t-0"}


async def test_a_topic_of_that_name_which_is_gone_leaves_the_log_to_the_one_there_is(
    tmp_path: Path,
) -> None:
    """A catalogue that was restored, or went on with its copy, may know the older."""
    files = FakeFiles()
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    async with replicas(one, files) as broker:
        await with_a_record(broker)
        topic_id = broker.topics.known("t").topic_id
    files.unlink(LOG_DIR / META_PROPERTIES_NAME)
    async with replicas(two, files) as broker:
        await broker.create_topic()
    async with replicas(two, files) as broker:
        broker.topics.gives_leader_epochs = False
        gone = await given_away(broker).set_topics_aside(list(broker.topics))
        assert [each.name for each in gone] == ["t"]
        await delete_topics(broker.services, [each.topic_id for each in gone])
        assert names(files) == {"t-0"}
        await broker.topics.create_topics([NewTopic("t", 1, {}, topic_id)])
        rig = Rig(broker)
        rig.leader.append(b"deleted since", epoch=3)
        rig.decide(LEADER, 3)
        await broker.manager.open([T0])
        await rig.step()
        assert rig.leader.told == 1, "it has the record"


async def test_what_cannot_be_renamed_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        files.fail("rename")
        await given_away(broker).take_away([T0], keeps=False)
        files.heal()
        assert broker.committer.for_directory(LOG_DIR).failure is not None
        assert is_written(broker)
        rig.decide(LEADER, 5)
        with pytest.raises(KafkaStorageError):
            rig.partition.leadership.check_replica()
    assert "stays" in caplog.text


async def test_without_room_in_the_catalogue_it_is_to_be_done_again(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        with full_catalog(broker.catalog), pytest.raises(KafkaStorageError):
            await given_away(broker).take_away([T0], keeps=False)
        assert is_written(broker)
        await given_away(broker).take_away([T0], keeps=False)
        assert not is_written(broker)
        rig.leader.log = SourceLog()
        rig.leader.append(b"b", epoch=4, offset=1)
        rig.decide(LEADER, 5)
        await rig.step(2)
        assert is_written(broker), "it follows again"


async def test_on_a_full_disk_what_is_given_away_makes_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        errors = [DiskFull("no room")]

        def write() -> None:
            if errors:
                raise errors.pop()

        monkeypatch.setattr(broker.logs, "checkpoint_job", lambda: write)
        await given_away(broker).take_away([T0], keeps=False)
        assert not is_written(broker)
        assert not broker.logs.unremoved_partitions
        monkeypatch.undo()


def failing(broker: Replicas, directory: Path) -> Callable[[], Callable[[], None]]:
    """Checkpoints as they are, but once that directory fails when they are written."""
    job, left = broker.logs.checkpoint_job, [directory]

    def write() -> None:
        if left:
            raise DirectoryFailure(left.pop(), OSError("Input/output error"))
        job()()

    return lambda: write


async def test_what_was_in_a_directory_that_fails_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        monkeypatch.setattr(broker.logs, "checkpoint_job", failing(broker, LOG_DIR))
        await given_away(broker).take_away([T0], keeps=False)
        assert broker.committer.for_directory(LOG_DIR).failure is not None
        assert broker.topics.offline == {T0}
        assert is_written(broker), "the next start misses it"


async def test_a_directory_that_fails_keeps_nobody_else_from_beginning_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        rig = await with_a_record(broker)
        rig.decide(LEADER, 4, LEADER)
        job = failing(broker, Path("/another"))
        monkeypatch.setattr(broker.logs, "checkpoint_job", job)
        await given_away(broker).take_away([T0], keeps=False)
        assert broker.committer.for_directory(Path("/another")).failure is not None
        assert not broker.topics.offline
        assert not is_written(broker)
        rig.leader.log = SourceLog()
        rig.leader.append(b"b", epoch=4, offset=1)
        rig.decide(LEADER, 5)
        await rig.step(2)
        assert is_written(broker), "it follows again"


async def test_what_is_gone_begins_anew_whichever_other_directory_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await with_a_record(broker)
    files.rmtree(LOG_DIR / str(T0))
    async with replicas(tmp_path, files) as broker:
        assert broker.topics.offline == {T0}
        left_out = property(lambda _: False)
        monkeypatch.setattr(LogDirectories, "all_usable", left_out)
        rig = Rig(broker)
        rig.leader.append(b"a", epoch=3)
        rig.decide(LEADER, 3)
        await rig.step(2)
        assert not broker.topics.offline
        assert rig.ends[0] == 1
