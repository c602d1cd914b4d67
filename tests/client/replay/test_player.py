"""A recording, asked again of a broker that answers as a test says."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.client.address import Address
from odradek.client.connection import Connection
from odradek.client.errors import Unreachable
from odradek.client.replay import recording as form
from odradek.client.replay.player import Difference, Player
from odradek.client.replay.recording import Answered, Asked, Event, Recording
from odradek.protocol.headers import encode_request, encode_response
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
)
from odradek.protocol.messages.transactions import EndTxnRequest, EndTxnResponse
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.protocol.schema import Request, Response
from tests.fakes.scripted import ScriptedBroker, scripted_cluster
from tests.patience import PATIENCE_S


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with scripted_cluster() as cluster:
        broker = cluster.brokers[1]
        broker.answers[HeartbeatRequest] = heard
        yield broker


def heard(asked: HeartbeatRequest, version: int) -> HeartbeatResponse:
    """The generation that was asked with is the code of the answer."""
    return HeartbeatResponse(error_code=asked.generation_id)


def asked(call: int, request: Request, version: int = 4, connection: int = 1) -> Asked:
    frame = encode_request(request, version, call, "client")[4:]
    return Asked(call, connection, "client", type(request).__name__, frame)


def answered(call: int, response: Response, version: int = 4) -> Answered:
    return Answered(call, b"".join(encode_response(response, version, call))[4:])


def heartbeat(call: int, generation: int = 0, connection: int = 1) -> Asked:
    request = HeartbeatRequest(group_id="g", generation_id=generation)
    return asked(call, request, connection=connection)


def recording(path: Path, *events: Event) -> Recording:
    calls = sum(isinstance(each, Asked) for each in events)
    lines = [form.head_line("1", 0), *map(form.event_line, events)]
    path.write_bytes(b"".join([*lines, form.end_line(calls)]))
    return Recording(path)


def played(
    path: Path, broker: ScriptedBroker, *events: Event, timeout_s: float = PATIENCE_S
) -> list[Difference]:
    made = recording(path / "r", *events)
    with Player(made, [broker.address], timeout_s=timeout_s) as player:
        found = list(player.play())
    assert player.calls == made.calls
    return found


def test_answers_are_compared(tmp_path: Path, broker: ScriptedBroker) -> None:
    fine = HeartbeatResponse(error_code=0)
    events = [heartbeat(1), answered(1, fine), heartbeat(2, 27), answered(2, fine)]
    [found] = played(tmp_path, broker, *events)
    assert found == (
        *(2, "HeartbeatRequest", 4, ".error_code", "NONE", "REBALANCE_IN_PROGRESS"),
    )


def test_ids_that_were_given_are_used(tmp_path: Path, broker: ScriptedBroker) -> None:
    members: list[str] = []

    def join(request: Any, version: int) -> JoinGroupResponse:
        members.append(request.member_id)
        return JoinGroupResponse(error_code=79, member_id="ours")

    broker.answers[JoinGroupRequest] = join
    theirs = JoinGroupResponse(error_code=79, member_id="theirs")
    first, second = JoinGroupRequest(group_id="g"), JoinGroupRequest(member_id="theirs")
    events = [asked(1, first, 5), answered(1, theirs, 5)]
    events += [asked(2, second, 5), answered(2, theirs, 5)]
    assert not played(tmp_path, broker, *events)
    assert members == ["", "ours"]


def test_answers_of_one_connection_come_in_the_order_of_requests(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    """Where the second one was there before the first, that waited."""
    one, other = (HeartbeatResponse(error_code=code) for code in (1, 2))
    events = [heartbeat(1, 1), heartbeat(2, 2), answered(2, other)]
    events += [heartbeat(3, 0, connection=2), answered(3, HeartbeatResponse())]
    events += [answered(1, one)]
    assert not played(tmp_path, broker, *events)


def test_what_has_no_answer_is_not_waited_for(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    broker.answers[HeartbeatRequest] = lambda request, version: None
    open_at_the_end = heartbeat(1)
    unanswered = [heartbeat(2), Answered(2, None, form.UNANSWERED)]
    closed = [heartbeat(3, connection=2), Answered(3, None, form.FAILED)]
    assert not played(tmp_path, broker, *closed, *unanswered, open_at_the_end)


@pytest.mark.parametrize("outcome", [form.FAILED, form.BROKEN])
def test_an_answer_where_there_was_none(
    tmp_path: Path, broker: ScriptedBroker, outcome: str
) -> None:
    events = [heartbeat(1), Answered(1, None, outcome)]
    found = played(tmp_path, broker, *events)
    texts = [(each.recorded, each.found) for each in found]
    # What a fault had damaged is not to be compared with anything.
    wanted = [("the connection was closed", "one")]
    assert texts == (wanted if outcome == form.FAILED else [])


def test_a_connection_that_closes_is_said_once(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    broker.answers[HeartbeatRequest] = lambda request, version: None
    fine = HeartbeatResponse()
    events = [heartbeat(1), heartbeat(2), answered(1, fine), answered(2, fine)]
    [found] = played(tmp_path, broker, *events)
    assert (found.call, found.found) == (1, "the connection was closed")


def test_an_answer_that_does_not_come(
    tmp_path: Path, broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(connection: Connection) -> memoryview:
        raise TimeoutError

    fine = HeartbeatResponse()
    events = [heartbeat(1), heartbeat(2), answered(1, fine), answered(2, fine)]
    made = recording(tmp_path / "r", *events)
    with Player(made, [broker.address], timeout_s=PATIENCE_S) as player:
        monkeypatch.setattr(player, "_timeout_s", 7.0)
        playing = player.play()
        connection = player._connected(heartbeat(1)).connection
        monkeypatch.setattr(connection, "receive_frame", lambda: never(connection))
        [found] = playing
    assert found.found == "none came in 7 s"


def nobody_there() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return Address("127.0.0.1", server.getsockname()[1])


def test_the_first_broker_that_is_there_is_asked(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    gone = nobody_there()
    made = recording(tmp_path / "r", heartbeat(1), answered(1, HeartbeatResponse()))
    with Player(made, [gone, broker.address]) as player:
        assert not list(player.play())
    with Player(made, [gone]) as player, pytest.raises(Unreachable):
        list(player.play())


def test_who_has_enough_ends_it(tmp_path: Path, broker: ScriptedBroker) -> None:
    made = recording(tmp_path / "r", heartbeat(1), answered(1, HeartbeatResponse()))
    with Player(made, [broker.address]) as player:
        assert not list(player.play(is_over=lambda: True))
    assert broker.asked == []


def test_a_transaction_ends_before_what_follows(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    broker.answers[EndTxnRequest] = lambda asked, version: EndTxnResponse()
    broker.answers[DescribeTransactionsRequest] = lambda asked, version: (
        DescribeTransactionsResponse()
    )
    end = EndTxnRequest(transactional_id="x", producer_id=1, committed=True)
    events = [asked(1, end), answered(1, EndTxnResponse()), heartbeat(2)]
    assert not played(tmp_path, broker, *events)
    kinds = [type(each).__name__ for each in broker.asked]
    at = kinds.index("EndTxnRequest")
    assert kinds[at + 1] == "DescribeTransactionsRequest"


def test_who_says_that_it_is_too_early_is_asked_again(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    """But not where that was recorded."""
    codes = [15, 14, 0]
    broker.answers[HeartbeatRequest] = lambda asked, version: HeartbeatResponse(
        error_code=codes.pop(0)
    )
    fine, early = HeartbeatResponse(), HeartbeatResponse(error_code=16)
    assert not played(tmp_path, broker, heartbeat(1), answered(1, fine))
    assert codes == []
    codes += [16, 0]
    assert not played(tmp_path, broker, heartbeat(1), answered(1, early))
    assert codes == [0]


def test_what_cannot_be_read_is_compared_as_bytes(
    tmp_path: Path, broker: ScriptedBroker
) -> None:
    """A recording may be of a broker that says more."""
    fine = answered(1, HeartbeatResponse())
    assert fine.answer is not None
    [found] = played(tmp_path, broker, heartbeat(1), Answered(1, fine.answer + b"!"))
    assert found.path == ".answer"
    assert found.recorded == found.found + b"!".hex()
