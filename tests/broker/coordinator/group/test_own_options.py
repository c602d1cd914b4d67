from odradek.broker.coordinator.group.own_options import Brokers, OwnOption
from tests.broker.coordinator.group.rig import GROUP, Groups


def test_a_group_s_own_is_kept_to_the_bounds() -> None:
    groups = Groups(group_max_size=7)
    option = OwnOption("x.size", lambda of: Brokers(of.group_max_size, 3, 9))
    for own, holds in ((None, 7), ("5", 5), ("1", 3), ("11", 9)):
        groups.options[GROUP] = {} if own is None else {"x.size": own}
        assert option(groups.state, GROUP) == holds


def test_where_there_are_no_bounds_it_is_what_it_is() -> None:
    groups = Groups()
    groups.options[GROUP] = {"x.size": "123456789"}
    option = OwnOption("x.size", lambda of: Brokers(of.group_max_size))
    assert option(groups.state, GROUP) == 123_456_789
