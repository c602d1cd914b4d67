import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.cluster.images.member_topics import MemberTopics
from odradek.broker.cluster.registration.membership import Identity, Stage
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.topics import Topics
from odradek.broker.node import joining, parts
from odradek.broker.node.joining import Joining
from odradek.broker.runtime.start_error import StartError
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


@pytest.mark.parametrize(
    ("stage", "leave_count"), [(Stage.SERVING, 1), (Stage.RECOVERING, 0)]
)
async def test_a_start_that_fails_gives_away_what_the_broker_leads_already(
    stage: Stage, leave_count: int
) -> None:
    left = []

    async def serve() -> None:
        raise StartError("the metadata log has the broker fenced")

    async def leave() -> None:
        left.append(1)

    async def nothing() -> None:
        pass

    made: Any = Joining.__new__(Joining)
    made._tasks = []
    made._peers = SimpleNamespace(asked=SimpleNamespace(run=nothing), lag_max_ms=30_000)
    made._services = SimpleNamespace(
        scheduler=SimpleNamespace(every=lambda *_: None), authorizer=None
    )
    made._fetchers = SimpleNamespace(stop=nothing)
    made.member = SimpleNamespace(
        serve=serve,
        leave=leave,
        failed=asyncio.get_running_loop().create_future(),
        membership=SimpleNamespace(stage=stage),
    )
    with pytest.raises(StartError):
        await made.serve()
    await asyncio.gather(*made._tasks)
    assert len(left) == leave_count


async def test_a_directory_that_fails_while_logs_are_looked_at_is_not_registered() -> (
    None
):
    membership = SimpleNamespace(
        identity=Identity(1, "c", b"i" * 16, (), (b"d" * 16, b"e" * 16), None, 7)
    )

    async def forget_if_lost(*_: Any) -> bool:
        identity = membership.identity
        membership.identity = identity._replace(directories=identity.directories[:1])
        return True

    async def nothing(*_: Any) -> None:
        pass

    made: Any = Joining.__new__(Joining)
    made._tasks = []
    made._services = SimpleNamespace(replica_manager=None, bugs=None)
    made._topics = SimpleNamespace(read_until=None)
    made._epoch = SimpleNamespace(forget_if_lost=forget_if_lost)
    made._directories = SimpleNamespace(asked=SimpleNamespace(run=nothing))
    made.member = SimpleNamespace(membership=membership, join=nothing)
    await made.join()
    await asyncio.gather(*made._tasks)
    assert membership.identity.directories == (b"d" * 16,)
    assert membership.identity.previous_epoch == -1


def test_what_controllers_leave_to_brokers_is_looked_at_here() -> None:
    looks = joining._looks_before_forwarding()
    assert sorted(key.name for key in map(ApiKey, looks)) == [
        "ALTER_CONFIGS",
        "CREATE_DELEGATION_TOKEN",
        "EXPIRE_DELEGATION_TOKEN",
        "INCREMENTAL_ALTER_CONFIGS",
        "RENEW_DELEGATION_TOKEN",
    ]
