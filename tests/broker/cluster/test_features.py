from odradek.broker.cluster.features import CLAIMED, why_not_in, why_not_of
from odradek.broker.quorum.image.image import (
    ControllerImage,
    MetadataImage,
    QuorumImage,
    Voter,
)

AT = "controller-1:9093"
OF_4_3 = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "kraft.version": 1,
    "metadata.version": 30,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}


def test_a_cluster_as_apache_kafka_formats_it_fits() -> None:
    assert why_not_of(OF_4_3, AT) is None
    assert sorted(each.name for each in CLAIMED) == sorted(OF_4_3)


def test_a_feature_that_is_off_is_not_missed() -> None:
    assert why_not_of({**OF_4_3, "queues.version": 0}, AT) is None


def test_all_misfits_are_told_with_the_command_that_helps() -> None:
    why_not = why_not_of({**OF_4_3, "queues.version": 3, "metadata.version": 31}, AT)
    assert why_not is not None
    assert "metadata.version 31, here 17-30; queues.version 3" in why_not
    assert (
        "kafka-features --bootstrap-controller controller-1:9093 downgrade "
        "--feature metadata.version=30 --feature queues.version=0"
    ) in why_not


def test_nobody_has_the_id_of_a_controller() -> None:
    voter = QuorumImage(voters=(Voter(1, b"d" * 16),))
    controllers = {2: ControllerImage(2, b"i" * 16)}
    image = MetadataImage(quorum=voter, controllers=controllers)
    for node_id in (1, 2):
        why_not = why_not_in(image, node_id, AT)
        assert why_not == f"node.id {node_id} is that of a controller of the cluster"
    assert why_not_in(image, 3, AT) is None
    other = image._replace(quorum=QuorumImage(kraft_version=2))
    assert "kraft.version 2" in (why_not_in(other, 3, AT) or "")
