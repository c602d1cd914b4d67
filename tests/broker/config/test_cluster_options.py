import pytest

from odradek.broker.config.cluster_options import cluster_options, is_member
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import HostPort

SERVERS = "controller.quorum.bootstrap.servers"


def config(**foreign: str) -> BrokerConfig:
    named = {name.replace("_", "."): value for name, value in foreign.items()}
    return BrokerConfig(foreign=named)


def test_a_broker_that_is_all_of_its_cluster_joins_none() -> None:
    assert cluster_options(config()) is None
    assert cluster_options(config(process_roles="broker,controller")) is None
    assert not is_member(config(process_roles="broker,controller"))


def test_whom_to_ask_and_how_often() -> None:
    found = cluster_options(
        BrokerConfig(
            foreign={
                "process.roles": "broker",
                SERVERS: "controller-1:9093, controller-2:9094",
                "broker.heartbeat.interval.ms": "500",
            }
        )
    )
    assert found is not None
    assert found.controllers == (
        HostPort("controller-1", 9093),
        HostPort("controller-2", 9094),
    )
    assert found.heartbeat_interval_ms == 500
    assert found.registration_timeout_ms == 60_000


def test_voters_are_asked_where_no_servers_are_named() -> None:
    found = cluster_options(
        config(
            process_roles="broker", controller_quorum_voters="3000@controller-1:9093"
        )
    )
    assert found is not None
    assert found.controllers == (HostPort("controller-1", 9093),)


@pytest.mark.parametrize("servers", ["", "nowhere"])
def test_controllers_must_be_named(servers: str) -> None:
    options = BrokerConfig(foreign={"process.roles": "broker", SERVERS: servers})
    with pytest.raises(ValueError, match=r"controllers listen|nowhere"):
        cluster_options(options)
