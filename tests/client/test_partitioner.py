from odradek.client.partitioner import StickyPartition


def test_without_a_key_a_partition_stays_until_its_batch_is_full() -> None:
    sticky = StickyPartition(lambda numbers: numbers[0])
    assert [sticky.current([0, 1, 2]) for _ in range(3)] == [0, 0, 0]
    sticky.move_on([0, 1, 2])
    assert sticky.current([0, 1, 2]) == 1
    assert sticky.current([2]) == 2  # the other one has lost its leader
    sticky.move_on([2])
    assert sticky.current([2]) == 2
