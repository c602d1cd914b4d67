from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.store import CatalogStore, PartitionRow
from odradek.broker.metadata.topic_index import TopicIndex
from odradek.protocol.errors import (
    InvalidPartitions,
    InvalidTopic,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition

ID_A, ID_B = b"a" * 16, b"b" * 16


@pytest.fixture
def index(tmp_path: Path) -> TopicIndex:
    store = CatalogStore(tmp_path / "catalog.db")
    store.insert_topics([(ID_A, "a.1", 2, {"x": "1"}), (ID_B, "gone", 3, {"y": "1"})])
    store.put_partitions([PartitionRow(ID_A, 1, 4, "d", True)])
    # A row beyond the partitions that there are, as a damaged catalogue may have.
    store.put_partitions([PartitionRow(ID_A, 7, 4, "d", True)])
    store.mark_deleting([ID_B])
    loaded = TopicIndex(store)
    store.close()
    return loaded


def test_topics_are_found_by_name_and_id(index: TopicIndex) -> None:
    assert [topic.name for topic in index] == ["a.1"]
    assert index.get("a.1") is index.by_id(ID_A) is index.known("a.1")
    assert index.get("gone") is None
    with pytest.raises(UnknownTopicOrPartition, match="'gone' does not exist"):
        index.known("gone")


def test_partitions_are_found(index: TopicIndex) -> None:
    found = index.partition(TopicPartition("a.1", 1))
    assert found is not None
    assert (found.leader_epoch, found.log_dir, found.written) == (4, "d", True)
    for missing in (("a.1", 2), ("a.1", -1), ("b", 0)):
        assert index.partition(TopicPartition(*missing)) is None


def test_which_names_are_free(index: TopicIndex) -> None:
    index.check_new_name("b")
    with pytest.raises(TopicAlreadyExists, match="already exists"):
        index.check_new_name("a.1")
    with pytest.raises(InvalidTopic, match="collides"):
        index.check_new_name("a_1")
    with pytest.raises(TopicAlreadyExists, match="is being deleted"):
        index.check_new_name("gone")
    index.release_name(index.deletions[ID_B])
    index.check_new_name("gone")


def test_a_topic_can_only_get_wider(index: TopicIndex) -> None:
    index.check_wider("a.1", 3)
    with pytest.raises(InvalidPartitions, match=r"already has 2 partition\(s\)"):
        index.check_wider("a.1", 2)
    with pytest.raises(InvalidPartitions, match="0 would not be an increase"):
        index.check_wider("a.1", 0)
