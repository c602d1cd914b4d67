from odradek.broker.replica.partition.host import PartitionHost
from odradek.broker.replica.replica_manager import ReplicaManager
from tests.broker.replica.partition.test_partition import FakeHost


def test_the_replica_manager_and_its_fake_have_all_that_partitions_ask_for() -> None:
    asked = {name for name in vars(PartitionHost) if not name.startswith("_")}
    assert "record_written" in asked
    for host in (ReplicaManager, FakeHost):
        assert asked <= set(dir(host))
