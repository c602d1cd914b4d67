from odradek.broker.cluster.directories.assignments import PARTITIONS_MAX, Assignments
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    PartitionAssignment,
    TopicAssignment,
)

A, B = b"a" * 16, b"b" * 16
FIRST, SECOND = b"1" * 16, b"2" * 16

Told = dict[tuple[bytes, int], bytes]


def told(request: AssignReplicasToDirsRequest | None) -> Told:
    """The directory of each partition, as a controller reads it."""
    assert request is not None
    return {
        (topic.topic_id, partition.partition_index): directory.id
        for directory in request.directories
        for topic in directory.topics
        for partition in topic.partitions
    }


def answer(asked: Told, code: int = 0) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(
        directories=[
            DirectoryAssignment(
                id=directory_id,
                topics=[
                    TopicAssignment(
                        topic_id=topic_id,
                        partitions=[
                            PartitionAssignment(partition_index=number, error_code=code)
                        ],
                    )
                ],
            )
            for (topic_id, number), directory_id in asked.items()
        ]
    )


def test_all_is_told_at_once() -> None:
    assignments = Assignments(1)
    wanted = {(A, 0): FIRST, (A, 1): SECOND, (B, 0): FIRST}
    for place, directory_id in wanted.items():
        assignments.want(*place, directory_id)
    request = assignments.next_request(100)
    assert told(request) == wanted
    assert request is not None
    assert (request.broker_id, request.broker_epoch) == (1, 100)
    assert [len(each.topics) for each in request.directories] == [2, 1]
    assert assignments.take(answer(wanted)) == 0
    assert assignments.next_request(100) is None


def test_more_than_one_request_holds() -> None:
    assignments = Assignments(1)
    for number in range(PARTITIONS_MAX + 1):
        assignments.want(A, number, FIRST)
    first = told(assignments.next_request(100))
    assert len(first) == PARTITIONS_MAX
    assignments.take(answer(first))
    assert told(assignments.next_request(100)) == {(A, PARTITIONS_MAX): FIRST}


def test_what_was_not_answered_is_told_again_later_and_later() -> None:
    assignments = Assignments(1)
    assignments.want(A, 0, FIRST)
    assignments.want(A, 1, FIRST)
    waits = []
    for _ in range(9):
        assert len(told(assignments.next_request(100))) == 2
        waits.append(assignments.lost())
    assert waits[:3] == [100, 200, 400]
    assert waits[-1] == 10_000
    assignments.next_request(100)
    stale = AssignReplicasToDirsResponse(error_code=77)
    assert assignments.take(stale) == 10_000
    assignments.next_request(100)
    assert assignments.take(answer({(A, 0): FIRST})) == 10_000, "of one nothing is said"
    asked = told(assignments.next_request(100))
    assert asked == {(A, 1): FIRST}
    assert assignments.take(answer(asked)) == 0
    assignments.want(A, 0, SECOND)
    assignments.next_request(100)
    assert assignments.lost() == 100


def test_the_newest_place_wins() -> None:
    assignments = Assignments(1)
    assignments.want(A, 0, FIRST)
    assignments.next_request(100)
    assignments.want(A, 0, SECOND)  # while the other one is on its way
    assignments.lost()
    assert told(assignments.next_request(100)) == {(A, 0): SECOND}
    assignments.want(A, 0, FIRST)
    assignments.drop(A, 0)
    assignments.take(answer({(A, 0): SECOND}))
    assert assignments.next_request(100) is None


def test_what_is_known_meanwhile_is_not_told_again() -> None:
    """It has moved there and back: the controllers would have it where it was."""
    assignments = Assignments(1)
    assignments.want(A, 0, SECOND)
    assignments.want(A, 1, SECOND)
    assignments.next_request(100)
    assignments.drop(A, 0)
    assignments.lost()
    assert told(assignments.next_request(100)) == {(A, 1): SECOND}


def test_what_is_not_there_any_more_is_not_told_again() -> None:
    assignments = Assignments(1)
    for code in (3, 6, 100):
        assignments.want(A, 0, FIRST)
        asked = told(assignments.next_request(100))
        assert assignments.take(answer(asked, code)) == 0
        assert assignments.next_request(100) is None
    assignments.want(A, 0, FIRST)
    asked = told(assignments.next_request(100))
    assert assignments.take(answer(asked, -1)) == 100
    assert told(assignments.next_request(100)) == asked
