from odradek.broker.coordinator.group.state.streams.tasks import (
    NOTHING_HELD,
    HeldTasks,
    Tasks,
    each_task,
)


def test_each_task() -> None:
    assert list(each_task({"0": frozenset({2}), "1": frozenset({0})})) == [
        ("0", 2),
        ("1", 0),
    ]


def test_held_tasks_without_their_epochs() -> None:
    held = HeldTasks({"0": {1: 5, 2: 6}}, {"1": frozenset({3})})
    assert held.without_epochs() == Tasks({"0": frozenset({1, 2})}, held.standby, {})
    assert not held.is_empty
    assert NOTHING_HELD.is_empty
