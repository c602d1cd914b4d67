from odradek.broker.cli.config.command import ACTIONS
from tests.broker.cli.topic.test_command import ACTIONS as TESTED


def test_every_action_is_among_those_that_are_tested() -> None:
    """Its help and its examples: see `test_topic`."""
    assert {("config", action) for action in ACTIONS} <= set(TESTED)
