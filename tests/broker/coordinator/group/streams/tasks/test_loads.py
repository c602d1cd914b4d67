from odradek.broker.coordinator.group.streams.tasks.loads import Loads, Quota


def test_the_least_loaded_is_first_and_among_equals_the_smaller_key() -> None:
    loads = Loads(["b", "a"])
    assert loads.least() == "a"
    loads.put("a", 1.5)
    assert loads.least() == "b"
    loads.put("b", 1.5)
    assert loads.least() == "a"
    assert loads.load("b") == 1.5


def test_those_that_are_taken_are_passed_and_stay() -> None:
    loads = Loads(range(3))
    loads.put(0, 1)
    assert loads.least_outside({1}) == 2
    assert loads.least_outside({1, 2}) == 0
    assert loads.least_outside({0, 1, 2}) is None
    assert loads.least() == 1


def test_a_quota_is_shared_anew_when_one_has_his_part() -> None:
    quota = Quota(7, 3)
    assert quota.each == 3
    quota.note(2)
    assert quota.each == 3
    quota.note(3)
    assert quota.each == 2  # four are left for two
    quota.note(2)
    quota.note(2)
    assert quota.each == 0
