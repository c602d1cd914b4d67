import shutil
from pathlib import Path

import pytest

from odradek.broker.cli.cluster.stored import image_view, read_directory
from odradek.broker.cli.cluster.view import FENCED, GONE, READY, STOPPING
from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import (
    BrokerImage,
    ControllerImage,
    Endpoint,
    FeatureRange,
    MetadataImage,
    PartitionImage,
    QuorumImage,
    TopicImage,
    Voter,
)
from tests.adopted import METADATA_GOLDEN

SNAPSHOT = METADATA_GOLDEN / "snapshot" / "log-dir"
ID = b"t" * 16


def broker(
    broker_id: int, *, fenced: bool = False, stopping: bool = False
) -> BrokerImage:
    return BrokerImage(
        broker_id,
        0,
        ID,
        (Endpoint("P", "h", 9092),),
        {"f": FeatureRange(0, broker_id)},
        is_fenced=fenced,
        is_stopping=stopping,
    )


def test_what_an_image_says() -> None:
    topic = TopicImage("t", ID, {0: PartitionImage((1, 4), (1,), 1, 0, 0)})
    image = MetadataImage(
        offset=5,
        quorum=QuorumImage(voters=(Voter(9, ID),)),
        features={"f": 1, "g": 1},
        brokers={
            3: broker(3),
            1: broker(1, stopping=True),
            2: broker(2, fenced=True),
        },
        controllers={9: ControllerImage(9, ID, (), {"f": FeatureRange(1, 7)})},
        topics={ID: topic},
        topic_ids={"t": ID},
    )
    view = image_view(image, "c", None, ["n"])
    assert [(each.broker_id, each.state) for each in view.brokers] == [
        (1, STOPPING),
        (2, FENCED),
        (3, READY),
        (4, GONE),
    ]
    assert [each.address for each in view.brokers] == ["h:9092"] * 3 + [None]
    assert [(each.name, each.level, each.possible) for each in view.features] == [
        ("f", 1, (1, 1)),
        ("g", 1, None),
    ]
    assert [each.is_under_replicated for each in view.partitions] == [True]
    assert (view.offset, view.voters, view.notes) == (5, [9], ["n"])


def test_a_directory_of_apache_kafka() -> None:
    view = read_directory(SNAPSHOT)
    assert view == read_directory(SNAPSHOT / "__cluster_metadata-0")
    assert view.cluster_id is not None
    assert {each.topic for each in view.partitions} >= {"orders", "events"}
    assert {each.is_offline for each in view.partitions} == {True}  # it was stopped
    assert [each.state for each in view.brokers] == [FENCED]


def test_one_that_is_none_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no __cluster_metadata-0 in"):
        read_directory(tmp_path)
    shutil.copytree(
        SNAPSHOT / "__cluster_metadata-0", tmp_path / "__cluster_metadata-0"
    )
    assert read_directory(tmp_path).cluster_id is None
    (tmp_path / "meta.properties").write_text("nothing")
    with pytest.raises(MetadataLogError, match=r"meta\.properties"):
        read_directory(tmp_path)
