from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.broker.adoption.check import check_owner, with_known_identity
from odradek.broker.adoption.owner import with_known_cluster
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.metadata.topics import Topics
from odradek.broker.runtime.start_error import StartError
from odradek.storage.files.files import OsFiles
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties

FILES = OsFiles()
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
BROKER = ("broker",)


def member(directory: Path, cluster_id: str | None = None) -> BrokerConfig:
    return BrokerConfig(
        process_roles=BROKER, log_dirs=(directory,), cluster_id=cluster_id
    )


@contextmanager
def catalog_of(directory: Path) -> Iterator[Catalog]:
    """As a start has it: it is read, and nothing else."""
    catalog = Catalog.open(directory, CLUSTER_ID)
    try:
        yield catalog
    finally:
        catalog.store.close()


def test_a_broker_alone_is_asked_for_nothing(tmp_path: Path) -> None:
    write_meta_properties(FILES, tmp_path, MetaProperties(CLUSTER_ID, 7))
    alone = BrokerConfig(log_dirs=(tmp_path,))
    with pytest.raises(StartError, match="odradek adopt"):
        with_known_identity(alone, FILES)
    with catalog_of(tmp_path):
        assert with_known_identity(alone, FILES).node_id == 7
    assert with_known_identity(member(tmp_path, CLUSTER_ID), FILES).node_id == 1


def test_the_id_of_the_cluster_is_that_of_the_options(tmp_path: Path) -> None:
    assert with_known_cluster(member(tmp_path, "x"), FILES).cluster_id == "x"
    with pytest.raises(StartError, match=r"cluster\.id is not set"):
        with_known_cluster(member(tmp_path / "new"), FILES)


def test_a_directory_that_was_formatted_says_it(tmp_path: Path) -> None:
    write_meta_properties(FILES, tmp_path, MetaProperties(CLUSTER_ID, 2))
    assert with_known_cluster(member(tmp_path), FILES).cluster_id == CLUSTER_ID


def test_logs_of_somebody_else_are_not_ours(tmp_path: Path) -> None:
    write_meta_properties(FILES, tmp_path, MetaProperties(CLUSTER_ID, 2))
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(StartError, match=r"has logs \(orders-0\) and no catalogue"):
        with_known_cluster(member(tmp_path), FILES)
    with catalog_of(tmp_path):
        config = member(tmp_path)
        assert with_known_cluster(config, FILES) is config


def test_a_member_stays_one(tmp_path: Path) -> None:
    for _ in range(2):
        with catalog_of(tmp_path) as catalog:
            check_owner(member(tmp_path), catalog)
    with (
        catalog_of(tmp_path) as catalog,
        pytest.raises(StartError, match=f"cluster {CLUSTER_ID}, whose controllers"),
    ):
        check_owner(BrokerConfig(log_dirs=(tmp_path,)), catalog)


async def test_who_has_topics_of_its_own_joins_nobody(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path, CLUSTER_ID)
    alone = BrokerConfig(log_dirs=(tmp_path,))
    check_owner(alone, catalog)
    await Topics(catalog).create_topics([NewTopic("orders", 1, {})])
    await catalog.close()
    with catalog_of(tmp_path) as again:
        check_owner(alone, again)
        with pytest.raises(StartError, match="all of its own cluster"):
            check_owner(member(tmp_path), again)
