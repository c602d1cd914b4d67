from typing import Any

import pytest

from odradek.broker.config.cluster_options import (
    cluster_options,
    controller_listener,
    listener_for_brokers,
)
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import HostPort, parse_listeners
from odradek.broker.config.sources import load

MAP = "listener.security.protocol.map"
SERVERS = "controller.quorum.bootstrap.servers"


def config(*pairs: str) -> BrokerConfig:
    return load(pairs=["process.roles=broker", "node.id=2", *pairs]).config


def test_whom_to_ask_and_how_often() -> None:
    found = cluster_options(
        config(
            f"{SERVERS}=controller-1:9093, controller-2:9094",
            "broker.heartbeat.interval.ms=500",
        )
    )
    assert found.controllers == (
        HostPort("controller-1", 9093),
        HostPort("controller-2", 9094),
    )
    assert found.heartbeat_interval_ms == 500
    assert found.registration_timeout_ms == 60_000
    assert found.listener_name == "PLAINTEXT"


def test_voters_are_asked_where_no_servers_are_named() -> None:
    found = cluster_options(config("controller.quorum.voters=3000@controller-1:9093"))
    assert found.controllers == (HostPort("controller-1", 9093),)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((), "controllers listen"),
        ((f"{SERVERS}=",), "controllers listen"),
        ((f"{SERVERS}=nowhere",), f"{SERVERS}: 'nowhere' is not like"),
        (
            (f"{SERVERS}=a:1", "inter.broker.listener.name=INSIDE"),
            "listeners has PLAINTEXT, and none of that name",
        ),
    ],
)
def test_what_cannot_be_stops_the_start(pairs: tuple[str, ...], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        config(*pairs)


def test_a_member_has_a_number() -> None:
    with pytest.raises(OptionError, match=r"needs node\.id"):
        load(pairs=["process.roles=broker", f"{SERVERS}=a:1"])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "OUTSIDE"),
        ({"inter_broker_listener_name": "inside"}, "INSIDE"),
        ({"security_inter_broker_protocol": "SSL"}, "SSL"),
    ],
)
def test_where_brokers_reach_brokers(options: dict[str, Any], name: str) -> None:
    listeners = "OUTSIDE://:1,INSIDE://:2,SSL://:3"
    made = BrokerConfig(
        listeners=parse_listeners(listeners),
        listener_security_protocol_map=("OUTSIDE:SSL", "INSIDE:SSL", "SSL:SSL"),
        explicit=frozenset(each.replace("_", ".") for each in options),
        **options,
    )
    assert listener_for_brokers(made).name == name


@pytest.mark.parametrize(
    ("pairs", "listener"),
    [
        ((), ("CONTROLLER", "PLAINTEXT")),
        (("controller.listener.names=SSL",), ("SSL", "SSL")),
        (
            (
                f"{MAP}=PLAINTEXT:PLAINTEXT,In:SSL",
                "controller.listener.names=In",
            ),
            ("IN", "SSL"),
        ),
    ],
)
def test_how_controllers_are_spoken_to(
    pairs: tuple[str, ...], listener: tuple[str, str]
) -> None:
    found = controller_listener(config(f"{SERVERS}=a:1", *pairs))
    assert (found.name, found.security_protocol) == listener


def test_a_protocol_that_nobody_knows_is_refused() -> None:
    with pytest.raises(OptionError, match="does not say which protocol CONTROLLER"):
        config(f"{SERVERS}=a:1", f"{MAP}=PLAINTEXT:PLAINTEXT")


def test_options_of_controllers_are_those_of_a_listener() -> None:
    name = "listener.name.controller.ssl.truststore.location"
    found = config(f"{SERVERS}=a:1", f"{name}=ca.p12")
    assert found.of_listeners[name] == "ca.p12"
    with pytest.raises(OptionError, match="no option"):
        config(f"{SERVERS}=a:1", "listener.name.controller.ssl.truststore.locaton=x")


def test_the_listener_for_brokers_is_named_once() -> None:
    with pytest.raises(OptionError, match="are both set"):
        config(
            f"{SERVERS}=a:1",
            "inter.broker.listener.name=PLAINTEXT",
            "security.inter.broker.protocol=PLAINTEXT",
        )
