"""``snapshot``, asked without the socket, of a broker on a real disk."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.snapshots import snapshot_requests
from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.backups import Backups
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import StorageFailure
from tests.broker.upkeep.compaction.test_cleaning import append
from tests.fakes.replicas import LOG_DIR, Replicas, replicas


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Replicas]:
    async with replicas(tmp_path) as broker:
        append(broker, await broker.create_topic("t"), b"1")
        await broker.commit()
        yield broker


async def ask(broker: Replicas, tmp_path: Path, **fields: Any) -> list[Any]:
    backups = Backups(broker.services, LOG_DIR)
    catalog = broker.topics.copy_to

    async def copy_to(path: Path, and_then: Any) -> Any:
        """The catalogue is a real file, and the logs are in memory."""
        found = await catalog(tmp_path / "copy.db", and_then)
        broker.files.put(path, (tmp_path / "copy.db").read_bytes())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker.topics, "copy_to", copy_to)
        answer = snapshot_requests(broker.services, backups)["snapshot"](fields)
        return [dict(item) async for item in answer]


async def test_it_is_made_and_described(broker: Replicas, tmp_path: Path) -> None:
    (item,) = await ask(broker, tmp_path, path="/snapshots/one")
    assert item["path"] == "/snapshots/one"
    content = json.loads(broker.files.content("/snapshots/one/snapshot.json"))
    assert item["files"] == len(content["files"])
    assert item["bytes"] == sum(content["files"].values()) > item["shared"] > 0
    assert content["made"].startswith("20")
    left = broker.files.listdir(LOG_DIR)
    assert not [name for name in left if name.endswith("-delete")]
    assert "catalog.cut" not in left
    assert not broker.logs.removals.is_held


async def test_another_follows(broker: Replicas, tmp_path: Path) -> None:
    await ask(broker, tmp_path, path="/snapshots/one")
    await ask(broker, tmp_path, path="/snapshots/two")
    names = [
        set(broker.files.listdir(Path(f"/snapshots/{name}/0/t-0")))
        for name in ("one", "two")
    ]
    assert names[0] == names[1]  # nothing came between: no segment was begun


@pytest.mark.parametrize(
    ("fields", "word", "message"),
    [
        ({}, "bad-request", "path is missing"),
        ({"path": "relative"}, "bad-request", "it is an absolute one"),
        ({"path": "/s", "pth": 1}, "bad-request", "'pth' is not a field.*path"),
        ({"path": str(LOG_DIR)}, "taken", "no snapshot: .* is taken"),
        ({"path": f"{LOG_DIR}/t-0/{0:020d}.log"}, "taken", "is taken"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    broker: Replicas, tmp_path: Path, fields: dict[str, Any], word: str, message: str
) -> None:
    with pytest.raises(AdminError, match=message) as refused:
        await ask(broker, tmp_path, **fields)
    assert refused.value.word == word
    (log,) = broker.logs.logs()
    assert len(log.local.segments) == 1


async def test_what_is_lost_is_not_missed_later(
    broker: Replicas, tmp_path: Path
) -> None:
    (log,) = broker.logs.logs()
    log.fail(KafkaStorageError("gone"))
    with pytest.raises(AdminError, match="no snapshot: t-0: its log directory is off"):
        await ask(broker, tmp_path, path="/snapshots/one")
    assert not broker.files.exists(Path("/snapshots/one"))


async def test_a_disk_that_fails_leaves_nothing(
    broker: Replicas, tmp_path: Path
) -> None:
    count = broker.files.counts["rename"]
    broker.files.fail("rename", nth=1)
    with pytest.raises(AdminError, match=r"no snapshot: .*snapshots/one"):
        await ask(broker, tmp_path, path="/snapshots/one")
    assert broker.files.counts["rename"] == count + 1
    assert broker.files.listdir(Path("/snapshots")) == []


async def test_a_roll_that_fails_is_the_failure_of_the_disk(
    broker: Replicas, tmp_path: Path
) -> None:
    (log,) = broker.logs.logs()
    with pytest.MonkeyPatch.context() as patch:

        def fail(*_: object) -> None:
            raise StorageFailure("broken")

        patch.setattr(log, "roll", fail)
        with pytest.raises(AdminError, match="broken"):
            await ask(broker, tmp_path, path="/snapshots/one")
    committer: Any = broker.services.committer
    assert committer.for_directory(LOG_DIR).failure is not None
