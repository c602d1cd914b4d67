import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.cluster.member_topics import MemberTopics
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.topics import Topics
from odradek.broker.node import joining, parts
from odradek.broker.node.joining import Joining
from odradek.protocol.api_keys import ApiKey

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


async def test_who_stops_already_sends_itself_no_second_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That would end the process in the middle of the stop."""
    signals: list[Any] = []
    monkeypatch.setattr("os.kill", lambda *sent: signals.append(sent))
    failed = asyncio.get_running_loop().create_future()
    failed.add_done_callback(joining._stop)

    async def leave() -> None:
        failed.set_result("the disk has failed")
        await asyncio.sleep(0)

    async def nothing() -> None:
        pass

    made: Any = Joining.__new__(Joining)
    made.member = SimpleNamespace(failed=failed, leave=leave)
    made._fetchers = SimpleNamespace(stop=nothing)
    await made.leave()
    await asyncio.sleep(0)
    assert made.has_failed
    assert signals == []


def test_what_controllers_leave_to_brokers_is_looked_at_here() -> None:
    looks = joining._looks_before_forwarding()
    assert sorted(key.name for key in map(ApiKey, looks)) == [
        "ALTER_CONFIGS",
        "CREATE_DELEGATION_TOKEN",
        "EXPIRE_DELEGATION_TOKEN",
        "INCREMENTAL_ALTER_CONFIGS",
        "RENEW_DELEGATION_TOKEN",
    ]
