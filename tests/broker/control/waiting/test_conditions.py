from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.fields import Fields
from odradek.broker.control.waiting.assignments import Assignments
from odradek.broker.control.waiting.changes import Changes
from odradek.broker.control.waiting.conditions import (
    Condition,
    FewConnections,
    conditions,
)
from odradek.broker.control.waiting.fetch_watch import FetchWatch
from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.requests.context import ConnectionInfo
from tests.fakes.replicas import Replicas, replicas
from tests.fakes.transactions import ID, T0, transaction_client


def condition(broker: Replicas, name: str, **fields: Any) -> Condition:
    services = broker.services
    changes = Changes(services, [])
    assignments = Assignments(services.metadata, FetchWatch(services, []), changes.tell)
    given = Fields(fields)
    made = conditions(services, [], changes, assignments)[name](given)
    given.end()
    return made


async def test_a_state_that_passes_is_seen(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        broker = client.broker
        waits = condition(broker, "transaction", id=ID, state="PrepareCommit")
        assert waits.missing() == f"there is no transactional id {ID}"
        producer = await client.ongoing(T0)
        assert waits.missing() == (
            f"the transaction of {ID} is Ongoing, not PrepareCommit; it came by Empty,"
            " Ongoing"
        )
        await client.told(client.end(producer))
        await client.settle()
        assert waits.missing() == ""
        now = condition(broker, "transaction", id=ID, state="CompleteCommit")
        assert now.missing() == ""
        never = condition(broker, "transaction", id=ID, state="CompleteAbort")
        assert never.missing() == (
            f"the transaction of {ID} is CompleteCommit, not CompleteAbort"
        )
        for each in (waits, now, never):
            each.end()
        assert broker.services.transactions.watchers == []


class FakeConnection:
    def __init__(self, port: int) -> None:
        self.info = ConnectionInfo(peer_port=port, client_software_name="java")


class FakeListener:
    def __init__(self, *ports: int) -> None:
        self.connections = [FakeConnection(port) for port in ports]


def test_connections_are_told_by_their_clients() -> None:
    listeners: Any = [FakeListener(7, 5), FakeListener()]
    assert FewConnections(listeners, 2).missing() == ""
    assert FewConnections(listeners, 1).missing() == (
        "2 connections: 127.0.0.1:5 java, 127.0.0.1:7 java"
    )
    assert list(FewConnections(listeners, 1).places()) == []


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("records", {"topic": "t", "count": 0}, "count is 0; it is at least 1"),
        ("records", {"count": 1}, "topic is missing"),
        ("assigned", {"group": "g", "member": 2}, "did you mean members?"),
        ("committed", {"group": "g", "topic": "t"}, "offset is missing"),
        ("transaction", {"id": "x", "state": "Commited"}, "it is Empty, Ongoing"),
        ("transaction", {"id": "", "state": "Empty"}, "id is empty"),
        ("lag", {"group": 1}, "group is 1; it is a text"),
        ("connections", {"at_most": -1}, "at_most is -1; it is at least 0"),
    ],
)
async def test_what_cannot_be_waited_for_is_refused(
    tmp_path: Path, name: str, fields: dict[str, Any], message: str
) -> None:
    async with replicas(tmp_path) as broker:
        with pytest.raises(AdminError, match=message):
            condition(broker, name, **fields)
