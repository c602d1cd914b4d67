import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.listener import parse_listeners
from odradek.broker.config.sole_member import why_not_alone

ROLES, VOTERS, SERVERS = (
    "process.roles",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
)


def of(node_id: int = 1, **texts: str) -> BrokerConfig:
    names = {"roles": ROLES, "voters": VOTERS, "servers": SERVERS}
    given = {names[key]: text for key, text in texts.items()}
    return BrokerConfig(
        node_id=node_id,
        listeners=parse_listeners("PLAINTEXT://:9092,CONTROLLER://:9093"),
        **{OPTIONS[name][0]: OPTIONS[name][1].parse(given[name]) for name in given},
    )


@pytest.mark.parametrize(
    "config",
    [
        of(),
        of(roles="broker,controller"),
        of(roles=" controller , broker "),
        of(roles=""),
        of(voters="1@localhost:9093"),
        of(7, voters="7@kafka:29093"),
        of(voters=" "),
        of(servers="localhost:9093"),
        of(servers="[::1]:9093"),
        of(roles="broker,controller", servers="kafka:9093"),
        # Those join one, see `cluster_options`.
        of(roles="broker", servers="a:9093"),
        of(roles="broker", voters="1@a:1,2@b:1"),
    ],
)
def test_a_node_that_is_all_of_its_cluster_starts(config: BrokerConfig) -> None:
    assert why_not_alone(config) is None


@pytest.mark.parametrize(
    ("config", "name", "reason"),
    [
        (of(roles="controller"), ROLES, "write broker to be one of those"),
        (of(roles="broker,observer"), ROLES, "write broker,controller"),
        (of(voters="1@a:1,2@b:1,3@c:1"), VOTERS, "voter 2@b:1 is another node"),
        (of(2, voters="1@a:9093"), VOTERS, "whose node.id is 2"),
        (of(voters="localhost:9093"), VOTERS, "not like 1@localhost:9093"),
        (of(servers="a:9093,b:9093"), SERVERS, "controllers elsewhere"),
        (of(servers="localhost:9092"), SERVERS, "controllers elsewhere"),
    ],
)
def test_a_member_of_a_cluster_does_not(
    config: BrokerConfig, name: str, reason: str
) -> None:
    refusal = why_not_alone(config)
    assert refusal is not None
    assert refusal.name == name
    assert reason in refusal.reason
