from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.share.decisions import decide_delete
from odradek.broker.coordinator.share.records import UpdateRecord
from odradek.broker.coordinator.share.state import ShareKey, StateBatch
from odradek.protocol.errors import CoordinatorNotAvailable
from tests.broker.coordinator.share.rig import KEY, NOW_MS, OTHER, States


def forget(states: States, key: ShareKey) -> None:
    states.apply(decide_delete(states.shard, [key]))


def test_a_restart_arrives_at_the_same() -> None:
    states = States()
    states.begin(0)
    states.write(0, (0, 9, 2, 1), (12, 14, 0, 2))
    states.write(10, (12, 12, 4, 3))
    states.begin(-1, key=OTHER)
    before = states.shard.states
    assert states.reload().states == before
    assert [tuple(each) for each in states.state().batches] == [
        (12, 12, 4, 3),
        (13, 14, 0, 2),
    ]


def test_who_has_it_in_memory_is_told_of_what_counts_no_more() -> None:
    states = States()
    states.begin(0)
    assert states.told == [KEY]
    states.write(0, (0, 1, 2, 1))
    states.read(leader_epoch=7)
    assert states.told == [KEY], "it goes on"
    states.begin(0, epoch=2)
    forget(states, KEY)
    assert states.told == [KEY] * 3


def test_the_log_is_needed_from_the_first_snapshot_on() -> None:
    states = States(share_coordinator_snapshot_update_records_per_snapshot=1)
    assert states.shard.first_needed_offset == 0
    states.begin(0)
    states.begin(0, key=OTHER)
    assert states.shard.first_needed_offset == 0
    states.write(1)
    states.write(2)
    assert states.state().snapshot_offset == 3
    assert states.shard.first_needed_offset == 1, "the other one's is older"
    forget(states, OTHER)
    assert states.shard.first_needed_offset == 3
    forget(states, KEY)
    assert states.shard.first_needed_offset == 6, "nothing is"


def test_a_log_that_was_cut_gives_the_same_states() -> None:
    states = States(share_coordinator_snapshot_update_records_per_snapshot=2)
    states.begin(0)
    states.begin(0, key=OTHER)
    for offset in range(10):
        states.write(offset, (offset, offset, 0, 1))
        states.write(offset, key=OTHER)
    before = states.shard.states
    cut = states.shard.first_needed_offset
    assert cut > 10
    assert states.reload(cut).states == before


def test_an_update_without_a_snapshot_is_better_than_nothing() -> None:
    states = States()
    batch = StateBatch(6, 7, 0, 1)
    states.shard.replay(UpdateRecord(KEY, 3, 5, 6, 0, (batch,)), Place(40, NOW_MS))
    state = states.state()
    assert state.stored() == (0, 5, 6, 0, (batch,))
    assert (state.snapshot_epoch, states.shard.first_needed_offset) == (3, 40)


def test_what_it_is_asked_by_the_runtime() -> None:
    states = States()
    states.begin(0)
    assert states.shard.summary() == {"share partition": 1}
    states.shard.on_loaded()
    states.shard.end_transaction(Place(1, NOW_MS), is_commit=True)
    states.shard.on_unloaded(CoordinatorNotAvailable())
    assert states.state().start == 0
