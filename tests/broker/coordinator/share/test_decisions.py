import pytest

from odradek.broker.coordinator.share.decisions import (
    check_partition,
    decide_delete,
    decide_forget_topic,
    decide_initialise,
    decide_summary,
)
from odradek.broker.coordinator.share.records import SnapshotRecord, UpdateRecord
from odradek.broker.coordinator.share.state import ShareKey, StateSummary
from odradek.protocol.errors import (
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)
from tests.broker.coordinator.share.rig import KEY, NOW_MS, OTHER, States, T, U

ABSENT = ShareKey("g", T, 3)
SNAPSHOTS = "share_coordinator_snapshot_update_records_per_snapshot"


def last_record(states: States) -> SnapshotRecord | UpdateRecord:
    found = states.shard.decode(*states.log[-1])
    assert isinstance(found, (SnapshotRecord, UpdateRecord))
    return found


class TestInitialise:
    def test_it_begins_where_it_is_said(self) -> None:
        states = States()
        assert states.begin(5, epoch=3) is None
        assert states.read() == (3, 0, 5, 0, ())
        assert states.state().created_ms == states.state().written_ms == NOW_MS

    def test_where_the_first_fetch_decides_nothing_is_counted(self) -> None:
        states = States()
        states.begin(-1)
        assert states.read() == (1, 0, -1, -1, ())

    def test_what_was_known_counts_no_more(self) -> None:
        states = States()
        states.begin(0)
        states.write(3, (4, 5, 0, 2))
        states.read(leader_epoch=9)
        assert states.begin(1, epoch=2) is None
        assert states.read() == (2, 0, 1, 0, ())
        assert states.state().snapshot_epoch == 1

    def test_by_the_same_epoch_but_by_no_older_one(self) -> None:
        states = States()
        states.begin(0, epoch=4)
        assert states.begin(7, epoch=4) is None
        assert isinstance(states.begin(0, epoch=3), FencedStateEpoch)
        assert states.read().start == 7
        assert states.begin(1, epoch=-1) is None, "any epoch"

    def test_each_partition_is_answered_for_itself(self) -> None:
        states = States()
        starts = {KEY: 0, ABSENT: 0, OTHER: 1, ShareKey("g", b"?" * 16, 0): 0}
        results = states.apply(decide_initialise(states.shard, starts, 1))
        codes = [0 if each is None else each.code for each in results.values()]
        assert codes == [0, 3, 0, 3]
        assert set(states.shard.states) == {KEY, OTHER}


class TestWrite:
    def test_an_update_says_what_has_changed(self) -> None:
        states = States()
        states.begin(0)
        assert states.write(2, (0, 1, 2, 1), (4, 4, 0, 1), state_epoch=1) is None
        assert last_record(states) == UpdateRecord(KEY, 0, 0, 2, 0, ((4, 4, 0, 1),))
        states.write(-1, (5, 5, 4, 5))
        assert states.read() == (1, 0, 2, 1, ((4, 4, 0, 1), (5, 5, 4, 5)))

    def test_finished_offsets_are_counted_unless_it_is_said(self) -> None:
        states = States()
        states.begin(0)
        states.write(0, (1, 4, 2, 1), (5, 5, 4, 1), (6, 6, 0, 1))
        assert states.read().complete_count == 5
        states.write(3, (6, 6, 2, 2))
        assert states.read().complete_count == 4
        states.write(3, complete_count=-1)
        assert states.read().complete_count == -1
        states.write(7)
        assert states.read().complete_count == 0

    def test_after_many_updates_comes_a_snapshot(self) -> None:
        states = States(**{SNAPSHOTS: 2})
        states.begin(0)
        for offset in range(1, 4):
            states.clock.advance(10)
            states.write(-1, (offset, offset, 2, 1))
        batches = ((1, 3, 2, 1),)
        then = NOW_MS + 30
        record = last_record(states)
        assert record == (KEY, (1, 1, 0, 0, 3, then, then, batches), False)
        states.write(4)
        assert isinstance(last_record(states), UpdateRecord), "it counts anew"

    def test_updates_can_be_left_out(self) -> None:
        states = States(**{SNAPSHOTS: 0})
        states.begin(0)
        states.write(1, complete_count=0)
        assert isinstance(last_record(states), SnapshotRecord)
        assert states.read().start == 1

    def test_who_is_too_old_changes_nothing(self) -> None:
        states = States()
        states.begin(0, epoch=4)
        states.read(leader_epoch=2)
        before, count = states.read(), len(states.log)
        with pytest.raises(FencedStateEpoch):
            states.write(1, state_epoch=3)
        with pytest.raises(FencedLeaderEpoch):
            states.write(1, state_epoch=4, leader_epoch=1)
        assert (states.read(), len(states.log)) == (before, count)
        states.write(1, state_epoch=4, leader_epoch=2)
        assert states.read().start == 1

    def test_what_was_never_begun_is_refused(self) -> None:
        with pytest.raises(InvalidRequest, match="has not begun"):
            States().write(1)

    def test_a_topic_that_is_gone_is_refused(self) -> None:
        states = States()
        states.begin(0)
        states.topics.remove(T)
        with pytest.raises(UnknownTopicOrPartition):
            states.write(1)
        with pytest.raises(UnknownTopicOrPartition):
            states.read()

    @pytest.mark.parametrize(
        "batch",
        [(3, 2, 0, 1), (-1, 2, 0, 1), (1, 2, 1, 1), (1, 2, 3, 1), (1, 2, 0, -1)],
    )
    def test_batches_that_cannot_be(self, batch: tuple[int, int, int, int]) -> None:
        states = States()
        states.begin(0)
        with pytest.raises(InvalidRequest, match="cannot be"):
            states.write(0, batch)
        assert states.read().batches == ()

    def test_batches_in_no_order(self) -> None:
        states = States()
        states.begin(0)
        for second in ((3, 5, 0, 1), (0, 1, 0, 1)):
            with pytest.raises(InvalidRequest, match="overlap"):
                states.write(0, (2, 4, 2, 1), second)

    def test_what_is_too_large_for_one_record_is_several(self) -> None:
        """As when a consumer says something else of every other record."""
        states = States(**{SNAPSHOTS: 1})
        states.begin(0)
        batches = [(each, each, 2 * (each % 2), 1) for each in range(1, 50_001)]
        states.write(0, *batches)
        states.write(1, (50_001, 50_001, 4, 1))
        assert len(states.log) == 1 + 3 + 1, "no snapshot has room for it"
        key, value = states.log[1]
        assert len(key) + len(value or b"") < 1 << 19
        assert states.read() == (1, 0, 1, 25_001, (*batches, (50_001, 50_001, 4, 1)))
        assert states.reload().states[KEY].stored() == states.read()


class TestRead:
    def test_a_new_leader_is_remembered(self) -> None:
        states = States()
        states.begin(0)
        states.write(1, (3, 3, 2, 1))
        assert states.read(leader_epoch=0).leader_epoch == 0
        count = len(states.log)
        read = states.read(leader_epoch=5)
        assert read == (1, 5, 1, 1, ((3, 3, 2, 1),))
        assert len(states.log) == count + 1
        assert states.read(leader_epoch=5) == read
        assert len(states.log) == count + 1, "known already"
        with pytest.raises(FencedLeaderEpoch):
            states.read(leader_epoch=4)
        assert states.reload().states[KEY].stored() == read

    def test_a_new_leader_may_be_the_one_with_the_snapshot(self) -> None:
        states = States(**{SNAPSHOTS: 0})
        states.begin(0)
        read = states.read(leader_epoch=5)
        assert read == (1, 5, 0, 0, ())
        assert states.reload().states[KEY].stored() == read

    def test_what_was_never_begun_is_refused(self) -> None:
        with pytest.raises(InvalidRequest, match="has not begun"):
            States().read()


def test_where_share_partitions_are() -> None:
    states = States()
    states.begin(4, epoch=2)
    found = states.apply(decide_summary(states.shard, [KEY, OTHER, ABSENT]))
    assert found[KEY] == StateSummary(2, 0, 4, 0)
    assert found[OTHER] == StateSummary(0, 0, -1, -1)
    assert isinstance(found[ABSENT], UnknownTopicOrPartition)


def test_what_is_forgotten_is_gone_for_good() -> None:
    states = States()
    states.begin(4, epoch=9)
    results = states.apply(decide_delete(states.shard, [KEY, OTHER]))
    assert results == {KEY: None, OTHER: None}
    assert len(states.log) == 2, "of the other one there was nothing"
    assert not states.reload().states
    assert states.begin(0, epoch=1) is None, "epochs begin anew"


def test_a_topic_is_forgotten_with_all_that_groups_did() -> None:
    states = States()
    of_others = ShareKey("h", T, 0), ShareKey("g", U, 0)
    for key in (KEY, OTHER, *of_others):
        states.begin(0, key=key)
    states.topics.remove(T)
    states.apply(decide_forget_topic(states.shard, T))
    assert set(states.reload().states) == {ShareKey("g", U, 0)}


@pytest.mark.parametrize("number", [-1, 3])
def test_which_partitions_there_are(number: int) -> None:
    topics = States().shard.topics
    check_partition(topics, KEY)
    with pytest.raises(KafkaError):
        check_partition(topics, ShareKey("g", T, number))
