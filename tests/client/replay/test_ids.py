"""Ids of another run, and ours."""

from odradek.client.replay.ids import Ids
from odradek.protocol.uuids import ZERO_UUID


def test_a_pair_once_is_a_pair_ever_after() -> None:
    ids = Ids()
    assert not ids.knows("member_id", "theirs")
    assert ids.ours("member_id", "theirs") == "theirs"
    assert ids.is_pair("member_id", "theirs", "ours")
    assert ids.is_pair("leader", "theirs", "ours")
    assert not ids.is_pair("member_id", "theirs", "another")
    assert not ids.is_pair("member_id", "a second", "ours")
    assert ids.knows("leader", "theirs")
    assert ids.ours("member_id", "theirs") == "ours"
    # Of another kind it is another id.
    assert ids.is_pair("topic_id", b"theirs", b"ours")


def test_none_is_a_pair_with_none_alone() -> None:
    ids = Ids()
    for field, none, some in (("producer_id", -1, 4), ("topic_id", ZERO_UUID, b"1")):
        assert ids.knows(field, none)
        assert ids.is_pair(field, none, none)
        assert not ids.is_pair(field, none, some)
        assert not ids.is_pair(field, some, none)
        assert not ids.knows(field, some)


def test_a_leader_is_a_member_where_it_is_a_text() -> None:
    assert Ids().is_id("leader", "member-1")
    assert not Ids().is_id("leader", 1)
    assert not Ids().is_id("name", "t")
