import pytest

from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.share import sessions as module
from odradek.broker.share.sessions import (
    EPOCH_MAX,
    FINAL_EPOCH,
    MemberKey,
    ShareSession,
    ShareSessions,
)
from odradek.protocol.errors import (
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)

TOPIC = bytes(16)


def keys(*partitions: int) -> list[ShareKey]:
    return [ShareKey("g", TOPIC, partition) for partition in partitions]


def session(
    member_id: str = "m", *partitions: int, connection: object = None
) -> ShareSession:
    member = MemberKey("g", member_id)
    return ShareSession(member, keys(*(partitions or (0,))), connection)


def test_a_session_is_found_with_its_epoch() -> None:
    all_of_them, opened = ShareSessions(5), session()
    with pytest.raises(ShareSessionNotFound):
        all_of_them.find(opened.key, 1)
    all_of_them.open(opened)
    assert all_of_them.find(opened.key, 1) is opened
    assert all_of_them.find(opened.key, FINAL_EPOCH) is opened
    opened.begin_next()
    assert all_of_them.find(opened.key, 2) is opened
    with pytest.raises(InvalidShareSessionEpoch, match="1, and 2 was expected"):
        all_of_them.find(opened.key, 1)


def test_after_the_last_epoch_comes_the_first() -> None:
    opened = session()
    opened.epoch = EPOCH_MAX
    opened.begin_next()
    assert opened.epoch == 1


def test_a_new_session_of_a_member_takes_the_place_of_its_old_one() -> None:
    all_of_them = ShareSessions(1)
    old, new = session(), session()
    all_of_them.open(old)
    all_of_them.open(new)
    assert all_of_them.get(new.key) is new
    assert (len(all_of_them), all_of_them.count_of("g")) == (1, 1)
    assert not all_of_them.close(old), "it is not there any more"
    assert all_of_them.close(new)
    assert (len(all_of_them), all_of_them.count_of("g")) == (0, 0)


def test_there_is_room_for_so_many() -> None:
    all_of_them = ShareSessions(1)
    all_of_them.open(session("a"))
    with pytest.raises(ShareSessionLimitReached):
        all_of_them.open(session("b"))
    all_of_them.limit = 2
    all_of_them.open(session("b"))
    assert all_of_them.count_of("g") == 2


def test_there_is_room_for_so_many_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTITIONS_MAX", 3)
    all_of_them, opened = ShareSessions(9), session("a", 0, 1)
    all_of_them.open(opened)
    with pytest.raises(ShareSessionLimitReached):
        all_of_them.open(session("b", 0, 1))
    with pytest.raises(ShareSessionLimitReached):
        all_of_them.update(opened, keys(1, 2, 3), [])
    all_of_them.update(opened, keys(1, 2), keys(0))
    assert list(opened.partitions) == keys(1, 2)
    all_of_them.open(session("b"))
    all_of_them.close(opened)
    all_of_them.open(session("c", 0, 1))


def test_each_partition_goes_first_in_its_turn() -> None:
    opened = session("m", 0, 1, 2)
    assert opened.in_turn(0) == keys(0, 1, 2)
    assert opened.in_turn(4) == keys(1, 2, 0)
    opened.update([], keys(0, 1, 2))
    assert opened.in_turn(4) == []


def test_of_a_partition_the_first_answer_is_always_given() -> None:
    opened = session("m", 0)
    assert opened.takes_answer(keys(0)[0])
    assert not opened.takes_answer(keys(0)[0])
    opened.update(keys(0, 1), [])
    assert not opened.takes_answer(keys(0)[0])
    assert opened.takes_answer(keys(1)[0])
    opened.update([], keys(1))
    opened.update(keys(1), [])
    assert opened.takes_answer(keys(1)[0])


def test_sessions_are_found_by_their_connection() -> None:
    one, other = object(), object()
    all_of_them = ShareSessions(9)
    mine = session("a", connection=one)
    all_of_them.open(mine)
    all_of_them.open(session("b", connection=other))
    assert all_of_them.of_connection(one) == [mine]
    assert all_of_them.of_connection(object()) == []


def test_who_is_refused_a_larger_session_keeps_the_one_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PARTITIONS_MAX", 3)
    all_of_them, opened = ShareSessions(1), session("a", 0, 1)
    all_of_them.open(opened)
    with pytest.raises(ShareSessionLimitReached):
        all_of_them.open(session("a", 0, 1, 2, 3))
    assert all_of_them.get(opened.key) is opened
    again = session("a", 0, 1, 2)
    all_of_them.open(again)
    assert all_of_them.get(opened.key) is again
    assert all_of_them.partition_count == 3


def test_it_is_known_which_partitions_anybody_reads() -> None:
    all_of_them = ShareSessions(9)
    one, other = session("a", 0, 1), session("b", 1)
    all_of_them.open(one)
    all_of_them.open(other)
    all_of_them.update(one, keys(2, 1), keys(1, 7))
    assert [all_of_them.is_read(key) for key in keys(0, 1, 2, 7)] == [1, 1, 1, 0]
    all_of_them.close(other)
    assert [all_of_them.is_read(key) for key in keys(0, 1, 2)] == [1, 0, 1]
    all_of_them.open(session("a", 2))
    assert [all_of_them.is_read(key) for key in keys(0, 1, 2)] == [0, 0, 1]
    all_of_them.update(one, keys(3), keys(3))
    assert not all_of_them.is_read(keys(3)[0])
