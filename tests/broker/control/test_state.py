from pathlib import Path
from typing import Any

from odradek.broker.control.state import state_requests
from odradek.broker.control.waiting.changes import Changes
from odradek.protocol.consumer_protocol import encode_assignment
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import Requests, answer, append, commit, refused
from tests.fakes.group_client import GROUP, group_client
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.fakes.transactions import ID, T0, transaction_client


def requests_of(broker: Replicas) -> Requests:
    return state_requests(broker.services, [], Changes(broker.services, []))


async def of_kind(broker: Replicas, kind: str, **fields: Any) -> list[dict[str, Any]]:
    items = await answer(requests_of(broker), "state", **fields)
    return [each for each in items if each["kind"] == kind]


async def test_partitions_have_their_offsets(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        append(broker, await broker.create_topic("a", 2), batch_of(b"x", b"y"))
        await broker.create_topic("b")
        await broker.services.groups.create_topic()
        items = await of_kind(broker, "partition")
        assert [(each["topic"], each["partition"]) for each in items] == [
            *(("a", 0), ("a", 1), ("b", 0))
        ]
        assert (items[0]["high_watermark"], items[0]["log_end_offset"]) == (0, 2)
        (only,) = await of_kind(broker, "partition", topics=["b"])
        assert only["topic"] == "b"
        internal = await of_kind(broker, "partition", topics=["__consumer_offsets"])
        assert len(internal) == 50
        why = await refused(requests_of(broker), "state", topics=["bb"])
        assert "there is no topic bb; did you mean b?" in why


async def test_groups_have_members_and_offsets(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        broker = client.broker
        place = await broker.create_topic()
        append(broker, place, batch_of(b"x", b"y"))
        joined = await client.join(version=3)
        await client.sync(
            version=2,
            member_id=joined.member_id,
            generation_id=joined.generation_id,
            given={joined.member_id: encode_assignment([place])},
        )
        commit(broker, "other", TopicPartition("t", 0), 1)
        (group,) = await of_kind(broker, "group", groups=[GROUP])
        assert (group["state"], group["generation"]) == ("Stable", 1)
        (member,) = group["members"]
        assert (member["client"], member["assigned"]) == ("test", [["t", 0]])
        (other,) = await of_kind(broker, "group", groups=["other"])
        assert other["offsets"] == [
            {"topic": "t", "partition": 0, "offset": 1, "lag": 1}
        ]
        assert len(await of_kind(broker, "group")) == 2


async def test_transactions_have_their_partitions(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        await client.ongoing(T0)
        (item,) = await of_kind(client.broker, "transaction")
        assert (item["id"], item["state"], item["partitions"]) == (
            *(ID, "Ongoing", [list(T0)]),
        )


async def test_who_waits_is_counted_and_the_test_itself_is_not(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic()
        append(broker, place, batch_of(b"x"))
        answered = broker.manager.append_records(
            {place: batch_of(b"y")}, acks=-1, timeout_ms=1000
        )
        changes = Changes(broker.services, [])
        changes.watch(lambda: None).follow([place])
        requests = state_requests(broker.services, [], changes)
        first, *_ = await answer(requests, "state")
        assert first["purgatory"] == {"produce": 1, "fetch": 0, "delete_records": 0}
        assert (first["connections"], first["waits"]) == (0, 1)
        assert not answered.done()  # type: ignore[attr-defined]
