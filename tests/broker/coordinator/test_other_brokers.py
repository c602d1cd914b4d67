from odradek.broker.cluster.coordination.cluster_brokers import ClusterBrokers
from odradek.broker.coordinator.other_brokers import OtherBrokers
from tests.fakes.other_brokers import FakeOtherBrokers


def test_fakes_are_asked_as_brokers_are() -> None:
    fake: OtherBrokers = FakeOtherBrokers()
    wanted = {name for name in dir(OtherBrokers) if not name.startswith("_")}
    for each in (fake, ClusterBrokers):
        assert wanted <= set(dir(each)) | {"node_id"}
