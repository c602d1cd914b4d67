"""Which requests a rule is for."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.faults.match import Match, is_like
from odradek.broker.control.subject import Subject
from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.requests.context import ConnectionInfo
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.headers import RequestHeader
from tests.fakes.replicas import replicas

HEADER = RequestHeader(ApiKey.PRODUCE, 9, 1, "client-1")
CONNECTION = ConnectionInfo(peer_host="127.0.0.1", peer_port=5)


def subject() -> Subject:
    found = Subject()
    found.topics, found.groups = {"orders": {0, 1}}, {"g"}
    return found


@pytest.mark.parametrize(
    ("match", "is_meant"),
    [
        (Match(), True),
        (Match(version=9), True),
        (Match(version=8), False),
        (Match(client_id="client-*"), True),
        (Match(client_id="other-*"), False),
        (Match(connection="127.0.0.1:5"), True),
        (Match(connection="127.0.0.1:6"), False),
        (Match(group="g"), True),
        (Match(group="h"), False),
        (Match(transactional_id="*"), False),
        (Match(topic="orders", partition=1), True),
        (Match(topic="orders", partition=2), False),
        (Match(topic="ord?rs"), True),
        (Match(partition=0), True),
        (Match(partition=7), False),
    ],
)
def test_a_request_is_meant_when_all_of_it_fits(match: Match, is_meant: bool) -> None:
    assert match.admits(HEADER, CONNECTION, subject()) is is_meant


def test_a_request_about_everything_may_be_about_that() -> None:
    everything = Subject()
    everything.is_all = True
    assert Match(topic="t", partition=3).admits(HEADER, CONNECTION, everything)


def test_places_and_keys() -> None:
    match = Match(topic="t-*", partition=1, group="g")
    assert match.has_place("t-1", 1)
    assert match.has_place("t-1", None)
    assert not match.has_place("t-1", 0)
    assert not match.has_place("u", 1)
    assert match.has_key("g")
    assert not match.has_key("h")
    assert Match().has_key("h")
    assert is_like("a[b]", "a[b]")


def test_without_an_api_it_is_for_those_that_can_be_meant() -> None:
    assert list(Match(api=3).api_keys) == [3]
    keys = Match(group="g", topic="t").api_keys
    assert ApiKey.OFFSET_COMMIT in keys
    assert ApiKey.PRODUCE not in keys
    assert ApiKey.API_VERSIONS in Match().api_keys


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"api": "Produce", "topic": "t", "partition": 9}, "partitions 0 to 2, not 9"),
        ({"topic": "tt", "partition": 0}, "did you mean t"),
        ({"api": "Heartbeat", "topic": "t1"}, "nothing of a topic"),
        ({"api": "Produce", "group": "g"}, "nothing of a group"),
        ({"api": "Heartbeat", "partition": 1}, "nothing of a partition"),
        ({"api": "Fetch", "version": 99}, "versions 4 to 18, not 99"),
        ({"api": "Fetsch"}, "did you mean Fetch"),
        ({"topics": "t"}, "did you mean topic"),
        ({"topic": 3}, "a text"),
    ],
)
async def test_what_can_match_nothing_is_refused(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("t", 3)
        await broker.create_topic("t1", 1)
        with pytest.raises(AdminError, match=said):
            Match.of(given, broker.topics)


async def test_what_is_not_there_yet_may_still_come(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        match = Match.of({"api": "produce", "topic": "later"}, broker.topics)
        assert match.shown() == {"api": "Produce", "topic": "later"}
        pattern = {"topic": "later-*", "partition": 5}
        assert Match.of(pattern, broker.topics).partition == 5


def test_a_scope_is_added_where_nothing_else_says_whose_it_is() -> None:
    assert Match(api=ApiKey.PRODUCE).within("a-") == Match(api=0, topic="a-*")
    assert Match(api=ApiKey.HEARTBEAT).within("a-").group == "a-*"
    assert Match(api=ApiKey.END_TXN).within("a-").transactional_id == "a-*"
    named = Match(topic="a-1")
    assert named.within("a-") is named
    mine = Match(api=ApiKey.API_VERSIONS, client_id="mine")
    assert mine.within("a-") is mine
    strangers = [Match(), Match(topic="b-1"), Match(api=ApiKey.API_VERSIONS)]
    strangers.append(Match(client_id="*"))
    for stranger in strangers:
        with pytest.raises(AdminError) as refused:
            stranger.within("a-")
        assert refused.value.word == "shared-broker"
