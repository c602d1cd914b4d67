from pathlib import Path
from typing import Any, cast

import pytest

from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.mirror_requests import mirror_requests
from tests.broker.mirror.rig import Rig, mirror_rig


async def ask(rig: Rig, what: str, /, **request: Any) -> list[Any]:
    answer = mirror_requests(rig.broker.services)[f"mirror-{what}"]
    return [item async for item in answer(request)]


async def test_status_has_mirrors_partitions_and_what_is_wrong(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        assert await ask(rig, "status") == []
        rig.source.add_topic()
        rig.source.append(b"a")
        await rig.broker.create_topic("t-ours")
        rig.source.add_topic("t-ours")
        (added,) = await ask(
            rig, "add", name="m", bootstrap="source:9092", topics="t.*"
        )
        assert (added["isKnown"], added["clusterId"]) == (False, "source")
        await rig.until(rig.is_copied)
        await rig.until(lambda: rig.mirror.copies and rig.mirror.has_looked)
        mirror, copied, left = await ask(rig, "status", name="m")
        assert (mirror["followed"], mirror["promoted"], mirror["lag"]) == (1, 0, 0)
        assert (copied["topic"], copied["end"], copied["sourceEnd"]) == ("t", 1, 1)
        assert (left["topic"], left["partition"]) == ("t-ours", None)
        assert "a topic of this name is here" in left["trouble"]
        assert await ask(rig, "promote", name="m", timeoutMs=None) == [
            {"topic": "t", "ends": [1]}
        ]
        assert await ask(rig, "remove", name="m") == [{"mirror": "m"}]


@pytest.mark.parametrize(
    ("name", "request_", "word", "message"),
    [
        ("add", {}, "malformed", "name must be a text"),
        ("status", {"name": "x"}, "mirror", "there is no mirror x"),
        ("promote", {"name": "x", "timeoutMs": "1"}, "malformed", "timeoutMs must be"),
        ("promote", {"name": "x", "topics": "t"}, "malformed", "must be a list"),
        ("promote", {"name": "x"}, "mirror", "there is no mirror x; there is none"),
        ("remove", {"name": "x"}, "mirror", "there is no mirror x; there is none"),
    ],
)
async def test_what_is_refused(
    tmp_path: Path, name: str, request_: dict[str, Any], word: str, message: str
) -> None:
    async with mirror_rig(tmp_path) as rig:
        with pytest.raises(AdminError, match=message) as caught:
            await ask(rig, name, **request_)
        assert caught.value.word == word


async def test_a_broker_of_a_cluster_has_no_mirrors(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.broker.services.cluster = cast("Any", object())
        with pytest.raises(AdminError, match="a cluster by itself"):
            await ask(rig, "add", name="m", bootstrap="source:9092", topics="t.*")
