from odradek.broker.metadata.topic import PartitionInfo, Topic


def test_topics_of_the_coordinators_are_internal() -> None:
    assert Topic("__consumer_offsets", b"1", []).is_internal
    assert Topic("__transaction_state", b"2", []).is_internal
    assert not Topic("__mine", b"3", []).is_internal


def test_a_new_partition_has_no_directory_and_no_records() -> None:
    assert PartitionInfo(0, 0) == (0, 0, None, False)
