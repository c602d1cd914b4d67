from odradek.broker.replica.partition.replica_state import ReplicaState, sole_replica


def test_the_minimum_is_capped_by_the_number_of_copies() -> None:
    assert sole_replica(1).has_enough_in_sync(2)
    assert ReplicaState((1, 2, 3), (1, 2)).has_enough_in_sync(2)
    assert not ReplicaState((1, 2, 3), (1,)).has_enough_in_sync(2)
    assert not ReplicaState((1, 2), (1,)).has_enough_in_sync(3)


def test_the_sole_replica_leads() -> None:
    assert sole_replica(7) == ReplicaState((7,), (7,), is_leader=True)
