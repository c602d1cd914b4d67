from odradek.broker.coordinator.group.state.streams.group import (
    StreamsGroup,
    StreamsState,
)
from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    StreamsMemberInfo,
    TaskState,
)
from odradek.broker.coordinator.group.state.streams.tasks import HeldTasks
from odradek.broker.coordinator.group.state.streams.topology import (
    Subtopology,
    Topology,
)

P, Q = StreamsMemberInfo(process_id="p"), StreamsMemberInfo(process_id="q")
TASK = ("0", 1)
WORKS = HeldTasks({"0": {1: 5}})
FOLLOWS = HeldTasks({}, {"0": frozenset({1})})


def test_the_states_of_a_group() -> None:
    group = StreamsGroup("g")
    assert (group.state, group.epoch) == (StreamsState.EMPTY, 1)
    group.put_info("a", P)
    assert group.state is StreamsState.NOT_READY
    group.topology = Topology(3, (Subtopology("0", ("t",)),))
    assert group.state is StreamsState.NOT_READY
    group.validated_epoch = 3
    group.epoch = 2
    assert group.state is StreamsState.ASSIGNING
    group.assignment_epoch = 2
    assert group.state is StreamsState.RECONCILING
    group.put_holding("a", StreamsHolding(2, 1, TaskState.STABLE))
    assert group.state is StreamsState.STABLE
    assert group.subscribed_topics() == {"t"}
    group.remove("a")
    assert group.state is StreamsState.EMPTY
    assert group.subscribed_topics() == frozenset()
    group.is_gone = True
    assert group.state is StreamsState.DEAD


def test_which_process_has_a_task() -> None:
    group = StreamsGroup("g")
    group.put_info("a", P)
    group.put_holding("a", StreamsHolding(5, assigned=WORKS))
    assert group.worker(TASK) == "p"
    group.put_holding("a", StreamsHolding(5, pending=WORKS))
    assert group.worker(TASK) == "p", "it has yet to give it up"
    group.put_holding("a", StreamsHolding(5, assigned=FOLLOWS))
    assert group.worker(TASK) is None
    assert group.follows("p", TASK)
    group.put_info("b", Q)
    group.put_holding("b", StreamsHolding(5, assigned=WORKS))
    assert group.worker(TASK) == "q"
    group.remove("a")
    assert not group.follows("p", TASK)
    group.remove("b")
    assert group.worker(TASK) is None


def test_after_compaction_tasks_may_be_known_before_the_process() -> None:
    group = StreamsGroup("g")
    group.put_holding("a", StreamsHolding(5, assigned=WORKS))
    group.put_info("a", P)
    assert group.worker(TASK) == "p"


def test_what_a_new_owner_has_its_last_one_does_not_take_along() -> None:
    group = StreamsGroup("g")
    group.put_info("a", P)
    group.put_holding("a", StreamsHolding(5, assigned=WORKS))
    group.put_info("b", Q)
    group.put_holding("b", StreamsHolding(6, assigned=WORKS))
    group.put_holding("a", StreamsHolding(6))
    assert group.worker(TASK) == "q"


def test_the_end_of_an_application_ends_with_its_members() -> None:
    group = StreamsGroup("g")
    group.put_info("a", P)
    group.ends_for = "a"
    group.remove("a")
    assert group.ends_for is None
