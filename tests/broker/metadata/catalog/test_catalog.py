import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from odradek.broker.metadata.catalog import catalog as module
from odradek.broker.metadata.catalog.catalog import RESERVE_NAME, Catalog, Change
from odradek.broker.metadata.catalog.recovery import BACKUP
from odradek.broker.metadata.catalog.store import CatalogError, CatalogStore
from odradek.protocol.errors import InvalidRequest, KafkaStorageError
from odradek.protocol.uuids import from_text
from odradek.storage.directory.disk_reserve import RESERVE_BYTES


@pytest_asyncio.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    opened = Catalog.open(tmp_path / "data")
    yield opened
    await opened.close()


def counting(log: list[str], name: str) -> Change:
    def write(store: CatalogStore) -> str:
        log.append(f"write {name}")
        return name

    def apply(result: str) -> str:
        log.append(f"apply {name}")
        return result

    return Change(apply, write)


async def test_changes_are_decided_when_those_before_are_applied(
    catalog: Catalog,
) -> None:
    log: list[str] = []

    def decide(name: str) -> Change:
        log.append(f"decide {name}")
        return counting(log, name)

    first = catalog.change(lambda: decide("a"))
    second = catalog.change(lambda: decide("b"))
    assert [await first, await second] == ["a", "b"]
    assert log == [f"{step} {name}" for name in "ab" for step in STEPS]


STEPS = ["decide", "write", "apply"]


async def test_a_refusal_does_not_hold_up_the_others(catalog: Catalog) -> None:
    def refuse() -> Change:
        raise InvalidRequest("no")

    refused = catalog.change(refuse)
    done = catalog.change(lambda: Change(lambda _: 7))
    with pytest.raises(InvalidRequest):
        await refused
    assert await done == 7


async def test_a_caller_that_stops_waiting_changes_nothing(catalog: Catalog) -> None:
    log: list[str] = []
    waiting = catalog.change(lambda: counting(log, "a"))
    waiting.cancel()
    assert await catalog.change(lambda: counting(log, "b")) == "b"
    assert log == ["write a", "apply a", "write b", "apply b"]


async def test_after_a_failed_write_nothing_is_written_any_more(
    catalog: Catalog,
) -> None:
    def fail(store: CatalogStore) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    with pytest.raises(KafkaStorageError, match="disk I/O error"):
        await catalog.change(lambda: Change(lambda _: None, fail))
    with pytest.raises(KafkaStorageError, match="failed earlier"):
        await catalog.change(lambda: counting([], "a"))


def when_there_is_room(directory: Path) -> Change:
    """It fails as long as the room that is kept is not given up."""

    def write(store: CatalogStore) -> str:
        if (directory / RESERVE_NAME).exists():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return "written"

    return Change(lambda result: result, write)


async def test_on_a_full_disk_some_room_is_kept_for_the_catalogue(
    tmp_path: Path,
) -> None:
    catalog = Catalog.open(tmp_path)
    for _ in range(2):
        change = await catalog.change(lambda: when_there_is_room(tmp_path))
        assert change == "written"
        assert (tmp_path / RESERVE_NAME).exists()  # taken again
    await catalog.close()


async def test_a_full_disk_is_over_when_it_is_over(catalog: Catalog) -> None:
    def fail(store: CatalogStore) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with pytest.raises(KafkaStorageError, match="full"):
        await catalog.change(lambda: Change(lambda _: None, fail))
    assert not catalog.has_room
    assert await catalog.change(lambda: counting([], "a")) == "a"
    assert catalog.has_room
    assert catalog.failure is None


async def test_a_full_disk_is_reported_when_it_begins_and_when_it_ends(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(store: CatalogStore) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    for _ in range(3):
        with pytest.raises(KafkaStorageError):
            await catalog.change(lambda: Change(lambda _: None, fail))
    for _ in range(2):
        await catalog.change(lambda: counting([], "a"))
    first, last = (record.message for record in caplog.records)
    assert "has no room (database or disk is full)" in first
    assert "has room again" in last


def write_error(store: CatalogStore) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    raise error


async def test_a_quota_that_is_used_up_is_a_full_disk(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite knows ENOSPC alone: EDQUOT it calls an I/O error."""
    monkeypatch.setattr(module, "has_room", lambda *_: False)
    with pytest.raises(KafkaStorageError):
        await catalog.change(lambda: Change(lambda _: None, write_error))
    assert await catalog.change(lambda: counting([], "a")) == "a"


async def test_a_write_error_of_a_disk_with_room_is_final(catalog: Catalog) -> None:
    with pytest.raises(KafkaStorageError):
        await catalog.change(lambda: Change(lambda _: None, write_error))
    with pytest.raises(KafkaStorageError, match="failed earlier"):
        await catalog.change(lambda: counting([], "a"))


async def test_the_room_is_kept_again_when_it_was_not_enough(tmp_path: Path) -> None:
    def fail(store: CatalogStore) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    catalog = Catalog.open(tmp_path)
    with pytest.raises(KafkaStorageError):
        await catalog.change(lambda: Change(lambda _: None, fail))
    assert (tmp_path / RESERVE_NAME).stat().st_size == RESERVE_BYTES
    await catalog.close()


async def test_blocks_of_producer_ids_are_never_given_again(tmp_path: Path) -> None:
    blocks = []
    for _ in range(2):
        catalog = Catalog.open(tmp_path)
        blocks.append(await catalog.allocate_producer_id_block())
        blocks.append(await catalog.allocate_producer_id_block())
        await catalog.close()
    assert [each for block in blocks for each in block] == list(range(4000))


async def test_a_block_is_in_the_copy_before_anybody_has_it(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    block = await catalog.allocate_producer_id_block()
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / "catalog.backup").read_bytes())
    store = CatalogStore(copy)
    assert store.take_producer_ids(1) == block.stop
    store.close()
    await catalog.close()


async def test_the_cluster_id_is_made_once(tmp_path: Path) -> None:
    first = Catalog.open(tmp_path)
    await first.close()
    again = Catalog.open(tmp_path)
    await again.close()
    assert first.cluster_id == again.cluster_id
    assert len(from_text(first.cluster_id)) == 16


async def test_a_change_of_topics_is_copied_soon(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    change = Change(
        lambda _: None, lambda store: store.insert_topics([(b"i", "a", 1, {})]), True
    )
    await catalog.change(lambda: change)
    await catalog.close()
    store = CatalogStore(tmp_path / "catalog.backup")
    assert [row.name for row in store.topics()] == ["a"]
    store.close()


async def test_one_that_need_not_be_durable_is_copied_at_its_end(
    tmp_path: Path,
) -> None:
    catalog = Catalog.open(tmp_path, is_durable=False)
    rows = [(b"i", "a", 1, {})]  # type: ignore[var-annotated]
    change = Change(lambda _: None, lambda store: store.insert_topics(rows), True)
    await catalog.change(lambda: change)
    await catalog.change(lambda: counting([], "x"))  # behind what would be a copy
    assert not (tmp_path / BACKUP).exists()
    await catalog.close()
    store = CatalogStore(tmp_path / BACKUP)
    assert [row.name for row in store.topics()] == ["a"]
    store.close()


def without_room(path: Path) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


async def test_a_copy_for_which_there_was_no_room_is_made_after_the_next_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though that one alone would deserve none."""
    catalog = Catalog.open(tmp_path)
    monkeypatch.setattr(catalog.store, "copy_to", without_room)
    rows = [(b"i", "a", 1, {})]  # type: ignore[var-annotated]
    change = Change(lambda _: None, lambda store: store.insert_topics(rows), True)
    await catalog.change(lambda: change)
    await catalog.change(lambda: Change(lambda _: None))  # behind the copy
    assert not (tmp_path / BACKUP).exists()
    monkeypatch.undo()
    await catalog.change(lambda: counting([], "x"))
    await catalog.change(lambda: Change(lambda _: None))
    assert (tmp_path / BACKUP).exists()
    await catalog.close()


@pytest.mark.parametrize("is_owed", [False, True])
async def test_a_full_disk_does_not_keep_the_catalogue_from_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_owed: bool
) -> None:
    catalog = Catalog.open(tmp_path)
    monkeypatch.setattr(catalog.store, "copy_to", without_room)
    rows = [(b"i", "a", 1, {})]  # type: ignore[var-annotated]
    change = Change(lambda _: None, lambda store: store.insert_topics(rows), True)
    done = catalog.change(lambda: change)
    if is_owed:
        await done
        await catalog.change(lambda: Change(lambda _: None))
    await catalog.close()
    again = Catalog.open(tmp_path)
    assert [row.name for row in again.store.topics()] == ["a"]
    await again.close()


async def test_a_busy_catalogue_is_copied_too(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)

    def insert(number: int) -> Change:
        name = f"t{number}"
        return Change(
            lambda _: None,
            lambda store: store.insert_topics([(name.encode(), name, 1, {})]),
            True,
        )

    changes = [catalog.change(lambda n=n: insert(n)) for n in range(101)]  # type: ignore[misc]
    await changes[-1]
    assert (tmp_path / "catalog.backup").exists()
    await catalog.close()


async def test_what_is_queued_is_done_before_the_catalogue_closes(
    tmp_path: Path,
) -> None:
    catalog = Catalog.open(tmp_path)
    log: list[str] = []
    futures = [catalog.change(lambda: counting(log, "x")) for _ in range(3)]
    await catalog.close()
    assert await asyncio.gather(*futures) == ["x"] * 3
    with pytest.raises(KafkaStorageError, match="stopping"):
        await catalog.change(lambda: counting(log, "y"))


async def test_a_cluster_keeps_the_id_that_it_was_given(tmp_path: Path) -> None:
    ours, other = "4L6g3nShT-eMCtK--X86sw", "5L6g3nShT-eMCtK--X86sw"
    catalog = Catalog.open(tmp_path, ours)
    assert catalog.cluster_id == ours
    await catalog.close()
    with pytest.raises(CatalogError, match=f"{ours}.*{other}"):
        Catalog.open(tmp_path, other)
    for same in (ours, None):
        catalog = Catalog.open(tmp_path, same)
        assert catalog.cluster_id == ours
        await catalog.close()


async def test_after_the_first_change_the_file_is_used_in_its_thread_alone(
    tmp_path: Path,
) -> None:
    """A copy of it may be made just then: two would wait for each other for ever."""
    catalog = Catalog.open(tmp_path)
    assert catalog.store.topics() == []
    waiting = catalog.change(lambda: counting([], "a"))
    for use in (catalog.store.topics, lambda: catalog.store.set_fact("x", 1)):
        with pytest.raises(RuntimeError, match=r"catalog\.db is used by another"):
            use()
    await waiting
    with pytest.raises(RuntimeError, match="is used by another thread"):
        catalog.store.fact("x")
    seen = await catalog.change(lambda: Change(list, CatalogStore.topics))
    assert seen == []
    await catalog.close()
