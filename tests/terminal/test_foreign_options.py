import pytest

from odradek.terminal.foreign_options import instead

CLUSTER = ["--bootstrap-server", "--command-config", "--count"]


@pytest.mark.parametrize(
    ("command", "option", "advice"),
    [
        ("consume", "--from-beginning", "it begins there"),
        ("consume", "--from-begining", "it begins there"),
        ("topic create", "--topic", "as in 'odradek topic create orders'"),
        ("config alter", "--entity-type", "as in 'odradek config alter topic orders'"),
        ("pipeline export", "--topic", "as in 'odradek pipeline export orders ./"),
        ("config show", "--entity-type", ""),
        ("group list", "--zookeeper", "there is no ZooKeeper"),
        ("consume", "-b", "--bootstrap-server HOST:PORT names a broker"),
        ("consume", "--cuont", ""),
        ("consume", "-9", ""),
        ("fancy", "--from-beginning", ""),
    ],
)
def test_an_option_of_another_tool(command: str, option: str, advice: str) -> None:
    said = instead(command, option, CLUSTER)
    assert said.startswith(advice) or (advice and advice in said)
    assert bool(said) == bool(advice)


def test_a_broker_is_named_only_where_a_command_asks_one() -> None:
    assert instead("serve", "--broker-list", ["--port"]) == ""
    assert instead("serve", "--override", ["--port"])


def test_what_an_action_has_not_is_no_advice() -> None:
    assert instead("group list", "--all-groups", CLUSTER) == ""
    assert instead("group describe", "--all-groups", [*CLUSTER, "--all"])
