import asyncio
from pathlib import Path

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.node import first_join
from odradek.broker.node.first_join import see_that_it_fits
from odradek.broker.node.server import Server
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import InconsistentClusterId
from odradek.protocol.membership_records import RegisterControllerRecord
from tests.broker.cluster.cluster_state import topic
from tests.fakes.joined_quorum import JoinedQuorum
from tests.patience import PATIENCE_S


def member(directory: Path, node_id: int = 1) -> BrokerConfig:
    return BrokerConfig(
        process_roles=("broker",),
        controller_quorum_bootstrap_servers=("controller-1:9093",),
        cluster_id="AAAAAAAAAAAAAAAAAAAAAA",
        node_id=node_id,
        log_dirs=(directory,),
    )


def names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


@pytest.fixture
def quorum(monkeypatch: pytest.MonkeyPatch) -> JoinedQuorum:
    made = JoinedQuorum()
    made.write(RegisterControllerRecord(controller_id=3), topic("a"))
    monkeypatch.setattr(
        first_join, "connecting_to_controllers", lambda *_: made.connect
    )
    return made


async def test_a_wrong_cluster_or_id_marks_no_directory(
    tmp_path: Path, quorum: JoinedQuorum
) -> None:
    async with asyncio.timeout(PATIENCE_S):
        quorum.refusals = [InconsistentClusterId()]
        with pytest.raises(StartError, match="another cluster"):
            await Server(member(tmp_path)).start()
        with pytest.raises(StartError, match=r"node\.id 3 is that of a controller"):
            await Server(member(tmp_path, 3)).start()
    assert names(tmp_path) == []


async def test_who_fits_may_go_on_and_later_starts_do_not_ask(
    tmp_path: Path, quorum: JoinedQuorum
) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await see_that_it_fits(member(tmp_path))
        quorum.refusals = [InconsistentClusterId()]
        (tmp_path / "catalog.db").touch()
        await see_that_it_fits(member(tmp_path))
