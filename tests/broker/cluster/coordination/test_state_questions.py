"""What is asked of share coordinators, and what is made of the answers."""

from typing import Any

import pytest

from odradek.broker.cluster.coordination.state_questions import StateQuestions
from odradek.broker.coordinator.share.questions import (
    DeleteState,
    InitialiseState,
    ReadState,
    StateQuestion,
    SummariseState,
    WriteState,
)
from odradek.broker.coordinator.share.state import (
    ShareKey,
    StateBatch,
    StateSummary,
    StateUpdate,
    StoredState,
)
from odradek.protocol.errors import ErrorCode, FencedLeaderEpoch, KafkaError
from odradek.protocol.messages import share_state as messages

T, U = b"t" * 16, b"u" * 16
T0, T1, U0 = ShareKey("g", T, 0), ShareKey("g", T, 1), ShareKey("g", U, 0)
BATCH = StateBatch(5, 9, 2, 1)
UPDATE = StateUpdate(3, 4, 5, (BATCH,), 5)
STATE_BATCH = messages.ShareStateBatch(
    first_offset=5, last_offset=9, delivery_state=2, delivery_count=1
)


def parts_of(*asked: StateQuestion) -> dict[tuple[bytes, int], Any]:
    """The parts of the request."""
    request: Any = StateQuestions.of(asked[0]).request(list(asked))
    assert request.group_id == "g"
    return {
        (topic.topic_id, each.partition): each
        for topic in request.topics
        for each in topic.partitions
    }


def told(asked: StateQuestion, response: Any) -> Any:
    kind = StateQuestions.of(asked)
    found = kind.answers(response)
    return kind.told(asked, found.get(kind.key_of(asked)))


def test_all_partitions_of_a_group_are_one_request() -> None:
    asked = [ReadState(T0, 7), ReadState(U0, 8), ReadState(T1, 9)]
    epochs = {place: each.leader_epoch for place, each in parts_of(*asked).items()}
    assert epochs == {(T, 0): 7, (U, 0): 8, (T, 1): 9}
    kind = StateQuestions.of(asked[0])
    other = ReadState(T0._replace(group_id="h"), 7)
    groups = [kind.group_of(each) for each in (*asked, other)]
    assert groups == ["g", "g", "g", "h"]


def test_what_is_written_goes_over_whole() -> None:
    (part,) = parts_of(WriteState(T0, UPDATE)).values()
    assert part == messages.ShareStatePartitionToWrite(
        partition=0,
        state_epoch=3,
        leader_epoch=4,
        start_offset=5,
        delivery_complete_count=5,
        state_batches=[STATE_BATCH],
    )
    (part,) = parts_of(WriteState(T0, UPDATE._replace(complete_count=None))).values()
    assert part.delivery_complete_count == -1


def test_a_beginning_and_an_end_go_over() -> None:
    (part,) = parts_of(InitialiseState(T1, 6, 50)).values()
    assert (part.partition, part.state_epoch, part.start_offset) == (1, 6, 50)
    (part,) = parts_of(DeleteState(T1)).values()
    assert part.partition == 1
    (part,) = parts_of(SummariseState(T1)).values()
    assert (part.partition, part.leader_epoch) == (1, -1)


def test_what_was_read_is_known_here() -> None:
    response = messages.ReadShareGroupStateResponse(
        results=[
            messages.ShareTopicState(
                topic_id=T,
                partitions=[
                    messages.SharePartitionState(
                        partition=0,
                        state_epoch=3,
                        start_offset=5,
                        state_batches=[STATE_BATCH],
                    )
                ],
            )
        ]
    )
    assert told(ReadState(T0, 7), response) == StoredState(3, 7, 5, -1, (BATCH,))


def test_a_summary_is_known_here() -> None:
    response = messages.ReadShareGroupStateSummaryResponse(
        results=[
            messages.ShareTopicSummary(
                topic_id=T,
                partitions=[
                    messages.SharePartitionSummary(
                        partition=0,
                        state_epoch=3,
                        leader_epoch=4,
                        start_offset=5,
                        delivery_complete_count=6,
                    )
                ],
            )
        ]
    )
    assert told(SummariseState(T0), response) == StateSummary(3, 4, 5, 6)


@pytest.mark.parametrize(
    "asked", [WriteState(T0, UPDATE), InitialiseState(T0, 1), DeleteState(T0)]
)
def test_what_is_done_has_no_more_to_say(asked: StateQuestion) -> None:
    done = messages.ShareStatePartitionResult(partition=0, error_code=0)
    failed = messages.ShareStatePartitionResult(
        partition=0, error_code=ErrorCode.FENCED_LEADER_EPOCH, error_message="late"
    )
    for part, expected in ((done, None), (failed, FencedLeaderEpoch)):
        result = messages.ShareStateResult(topic_id=T, partitions=[part])
        response = StateQuestions.of(asked).response_class(results=[result])  # type: ignore[call-arg]
        found = told(asked, response)
        if expected is None:
            assert found is None
        else:
            assert isinstance(found, expected)
            assert str(found) == "late"


def test_who_got_no_answer_is_told_so() -> None:
    found = StateQuestions.of(ReadState(T0, 7)).told(ReadState(T0, 7), None)
    assert isinstance(found, KafkaError)
    assert found.code == ErrorCode.NETWORK_EXCEPTION
