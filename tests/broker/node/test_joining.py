from pathlib import Path
from typing import Any, cast

import pytest

from odradek.broker.cluster.member_topics import MemberTopics
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.topics import Topics
from odradek.broker.node import parts
from odradek.broker.node.joining import endpoints_of
from odradek.broker.runtime.start_error import StartError

NOBODY = cast("Any", None)
MEMBER = BrokerConfig(
    process_roles=("broker",),
    controller_quorum_bootstrap_servers=("controller-1:9093",),
)


async def test_in_a_cluster_the_topics_are_those_of_its_controllers(
    tmp_path: Path,
) -> None:
    catalog = Catalog.open(tmp_path)
    alone = BrokerConfig(process_roles=("broker", "controller"))
    assert isinstance(parts.topics_of(MEMBER, catalog), MemberTopics)
    for config in (alone, BrokerConfig()):
        topics = parts.topics_of(config, catalog)
        assert isinstance(topics, Topics)
        assert topics.gives_leader_epochs
    await catalog.close()


def test_who_is_alone_joins_nobody() -> None:
    assert parts.joining_of(BrokerConfig(), NOBODY) is None
    alone = BrokerConfig(process_roles=("broker", "controller"))
    assert parts.joining_of(alone, NOBODY) is None


def test_others_are_told_where_to_connect() -> None:
    config = BrokerConfig(
        listeners=(Listener("PLAINTEXT", "0.0.0.0", 9092),),
        advertised_listeners=(Listener("PLAINTEXT", "broker-1", 19092),),
    )
    (found,) = endpoints_of(config)
    assert found == ("PLAINTEXT", "broker-1", 19092, 0)


@pytest.mark.parametrize(("host", "port"), [("0.0.0.0", 9092), ("broker-1", 0)])
def test_an_address_that_nobody_reaches_is_refused(host: str, port: int) -> None:
    config = BrokerConfig(listeners=(Listener("PLAINTEXT", host, port),))
    with pytest.raises(StartError, match=r"advertised\.listeners"):
        endpoints_of(config)
