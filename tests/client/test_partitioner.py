from odradek.client.partitioner import StickyPartition


def test_without_a_key_a_partition_stays_until_its_batch_is_full() -> None:
    sticky = StickyPartition(lambda numbers: numbers[0])
    assert [sticky.current([0, 1, 2]) for _ in range(3)] == [0, 0, 0]
    sticky.move_on([0, 1, 2])
    assert sticky.current([0, 1, 2]) == 1
    assert sticky.current([2]) == 2  # the other one has lost its leader
    sticky.move_on([2])
    assert sticky.current([2]) == 2


def test_without_a_key_a_partition_stays_for_so_many_bytes() -> None:
    """However fast they come: what lingers is sent often where they come slowly."""
    sticky = StickyPartition(lambda numbers: numbers[0], sticky_size=100)
    chosen = []
    for _ in range(12):
        chosen.append(sticky.current([0, 1, 2]))
        sticky.took(30)
    assert chosen == [0] * 4 + [1] * 4 + [0] * 4


def test_a_batch_that_is_full_begins_the_count_anew() -> None:
    sticky = StickyPartition(lambda numbers: numbers[0], sticky_size=100)
    assert sticky.current([0, 1]) == 0
    sticky.took(90)
    sticky.move_on([0, 1])
    sticky.took(90)
    assert sticky.current([0, 1]) == 1
    sticky.took(10)
    assert sticky.current([0, 1]) == 0
