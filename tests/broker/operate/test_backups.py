"""The broker's part in a backup, asked without the socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.backups import Backups
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.backup import cut as cut_module
from tests.broker.upkeep.compaction.test_cleaning import append
from tests.fakes.broker import until
from tests.fakes.replicas import LOG_DIR, Replicas, replicas


@asynccontextmanager
async def held(backups: Backups) -> AsyncIterator[list[dict[str, Any]]]:
    """The items up to that all is held; let go at the end."""
    items: list[dict[str, Any]] = []
    async with aclosing(backups.hold()) as answer:
        async for item in answer:
            items.append(dict(item))
            if "held" in item:
                yield items
                return


def holds_of(broker: Replicas) -> list[str]:
    return [n for n in broker.files.listdir(LOG_DIR) if n.endswith("-delete")]


async def test_logs_are_held_until_it_hangs_up(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic("t", 2)
        append(broker, place, b"1")
        await broker.commit()
        backups = Backups(broker.services, tmp_path)
        async with held(backups) as items:
            cut, partition, end = items
            assert cut["cut"]["clusterId"] == broker.topics.cluster_id
            assert cut["cut"]["missing"] == {}
            assert (partition["partition"]["topic"], end) == ("t", {"held": 1})
            assert partition["partition"]["endOffset"] == 1
            assert holds_of(broker) == [Path(partition["partition"]["held"]).name]
            assert not broker.logs.removals.is_held
            store = CatalogStore(Path(cut["cut"]["catalog"]))
            assert [topic.name for topic in store.topics()] == ["t"]
            store.close()
        assert holds_of(broker) == []


async def test_the_catalogue_and_the_logs_are_of_one_moment(tmp_path: Path) -> None:
    """What is changed while the catalogue is copied is in neither."""
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic("t")
        append(broker, place, b"1")
        await broker.commit()
        backups = Backups(broker.services, tmp_path)
        seen: list[list[str]] = []
        take = cut_module.take_cuts

        def noted(manager: Any) -> Any:
            seen.append([topic.name for topic in broker.topics])
            return take(manager)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cut_module, "take_cuts", noted)
            answer = backups.hold()
            beginning = asyncio.ensure_future(anext(answer))
            await asyncio.sleep(0)
            later = asyncio.ensure_future(broker.create_topic("later"))
            first = await beginning
            await later
        store = CatalogStore(Path(first["cut"]["catalog"]))
        assert [[topic.name for topic in store.topics()]] == seen
        store.close()
        await answer.aclose()


async def test_one_at_a_time(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        backups = Backups(broker.services, tmp_path)
        async with held(backups):
            second = asyncio.ensure_future(anext(backups.hold()))
            await broker.clock.tick(1000)
            with pytest.raises(AdminError, match="another backup is being made"):
                await second
        async with held(backups) as items:
            assert items[-1] == {"held": 0}


async def test_who_has_not_been_noticed_to_hang_up_is_waited_for(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        backups = Backups(broker.services, tmp_path)
        async with held(backups):
            answer = backups.hold()
            second = asyncio.ensure_future(anext(answer))
            await broker.clock.tick(999)
            assert not second.done()
        assert (await second)["cut"]["missing"] == {}
        await answer.aclose()


async def test_a_stop_lets_go_and_says_so(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        append(broker, await broker.create_topic("t"), b"1")
        await broker.commit()
        backups = Backups(broker.services, tmp_path)
        answer = backups.hold()
        while "held" not in await anext(answer):
            pass
        waiting = asyncio.ensure_future(anext(answer))
        await asyncio.sleep(0)
        backups.close()
        with pytest.raises(AdminError, match="the broker is stopping"):
            await waiting
        assert holds_of(broker) == []


async def test_signs_of_life_come_every_second(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        backups = Backups(broker.services, tmp_path)
        answer = backups.hold()
        while "held" not in await anext(answer):
            pass
        waiting = asyncio.ensure_future(anext(answer))
        await broker.clock.tick(999)
        assert not waiting.done()
        await broker.clock.tick(1)
        await until(waiting.done)
        assert waiting.result() == {"held": 0}
        await answer.aclose()


async def test_what_is_offline_is_told(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic("t")
        append(broker, place, b"1")
        await broker.commit()
        broker.log_of(place).fail(KafkaStorageError("gone"))
        async with held(Backups(broker.services, tmp_path)) as items:
            missing = items[0]["cut"]["missing"]
            assert missing == {"t-0": "its log directory is offline"}
            assert items[-1] == {"held": 0}


async def test_a_disk_that_fails_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        append(broker, await broker.create_topic("t"), b"1")
        await broker.commit()
        broker.files.fail("link")
        with pytest.raises(AdminError, match="no backup: "):
            async with held(Backups(broker.services, tmp_path)):
                pass
        assert holds_of(broker) == []
        assert not broker.logs.removals.is_held


async def test_a_log_that_is_overtaken_is_cut_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are gone for good, at first."""
    async with replicas(tmp_path) as broker:
        append(broker, await broker.create_topic("t"), b"1")
        await broker.commit()
        link, tries = cut_module.LogHold.link, []

        def vanish(hold: cut_module.LogHold) -> None:
            tries.append(hold)
            if len(tries) < 3:
                raise FileNotFoundError("gone")
            link(hold)

        monkeypatch.setattr(cut_module.LogHold, "link", vanish)
        async with held(Backups(broker.services, tmp_path)) as items:
            assert items[-1] == {"held": 1}
            assert len(holds_of(broker)) == 1
        assert len(set(map(id, tries))) == 3


async def test_it_does_not_try_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:
        append(broker, await broker.create_topic("t"), b"1")
        await broker.commit()

        def vanish(_: cut_module.LogHold) -> None:
            raise FileNotFoundError("gone")

        monkeypatch.setattr(cut_module.LogHold, "link", vanish)
        with pytest.raises(AdminError, match="faster than they could be held"):
            async with held(Backups(broker.services, tmp_path)):
                pass


async def test_the_request_takes_nothing(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        backups = Backups(broker.services, tmp_path)
        with pytest.raises(AdminError, match="unknown: x"):
            await anext(backups.request({"x": 1}))
        answer = backups.request({})
        assert "cut" in await anext(answer)
        await answer.aclose()
        async with held(backups):
            pass  # it was let go of
