"""What is told of records, and when."""

from typing import Any, cast

import pytest

from odradek.client.fetcher import FetchLimits
from odradek.client.share_session import ACCEPT, GAP, Outcome, ShareSession
from odradek.protocol.errors import GroupAuthorizationFailed
from odradek.protocol.messages.share_fetch import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    SharePartitionData,
)

PLACE = (b"t" * 16, 0)
OTHER = (b"t" * 16, 1)


class Asked:
    """A cluster that answers what a test says."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.error_code = 0

    def request(self, request: Any, *_: Any) -> Any:
        self.requests.append(request)
        if isinstance(request, ShareAcknowledgeRequest):
            return ShareAcknowledgeResponse()
        data = SharePartitionData(partition_index=0)
        topic = ShareFetchableTopicResponse(topic_id=PLACE[0], partitions=[data])
        return ShareFetchResponse(error_code=self.error_code, responses=[topic])

    def fetches(
        self,
    ) -> list[tuple[int, dict[int, list[tuple[int, int, int]]], list[int]]]:
        """Epoch, what was said of which partition, and what was forgotten."""
        return [
            (
                request.share_session_epoch,
                {
                    each.partition_index: [
                        (said.first_offset, said.last_offset, said.acknowledge_types[0])
                        for said in each.acknowledgement_batches
                    ]
                    for topic in request.topics
                    for each in topic.partitions
                },
                [
                    partition
                    for topic in request.forgotten_topics_data
                    for partition in topic.partitions
                ],
            )
            for request in self.requests
            if isinstance(request, ShareFetchRequest)
        ]


def session(asked: Asked) -> ShareSession:
    return ShareSession(cast("Any", asked), 1, "g", "m")


def fetch(of: ShareSession, *places: tuple[bytes, int]) -> Any:
    return of.fetch(places or (PLACE,), FetchLimits(), 500)


def test_only_what_is_new_is_named() -> None:
    asked = Asked()
    made = session(asked)
    assert [place for place, _ in fetch(made)] == [PLACE]
    fetch(made)
    fetch(made, PLACE, OTHER)
    fetch(made, OTHER)
    assert asked.fetches() == [
        (0, {0: []}, []),
        (1, {}, []),
        (2, {1: []}, []),
        (3, {}, [0]),
    ]


def test_what_became_of_records_is_told_once() -> None:
    asked = Asked()
    made = session(asked)
    fetch(made)
    for outcome in (
        Outcome(0, 1, ACCEPT),
        Outcome(2, 2, ACCEPT),
        Outcome(3, 2, GAP),
        Outcome(3, 4, GAP),
    ):
        made.say(PLACE, outcome)
    fetch(made)
    fetch(made)
    said = [(0, 2, ACCEPT), (3, 4, GAP)]
    assert [each[1] for each in asked.fetches()] == [{0: []}, {0: said}, {}]


@pytest.mark.parametrize("code", [122, 123])
def test_a_session_that_is_forgotten_begins_anew(code: int) -> None:
    asked = Asked()
    made = session(asked)
    fetch(made)
    made.say(PLACE, Outcome(0, 1, ACCEPT))
    asked.error_code = code
    assert fetch(made) == []
    asked.error_code = 0
    fetch(made)
    assert asked.fetches()[-1] == (0, {0: []}, []), "nothing is said of what is lost"


def test_a_refusal_is_raised() -> None:
    asked = Asked()
    asked.error_code = 30
    with pytest.raises(GroupAuthorizationFailed):
        fetch(session(asked))


def test_at_the_end_the_rest_is_told() -> None:
    asked = Asked()
    made = session(asked)
    made.end()
    assert asked.requests == [], "it has not begun"
    fetch(made)
    made.say(PLACE, Outcome(0, 1, ACCEPT))
    made.end()
    last = asked.requests[-1]
    assert isinstance(last, ShareAcknowledgeRequest)
    assert last.share_session_epoch == -1
    (topic,) = last.topics
    assert [
        each.acknowledgement_batches[0].last_offset for each in topic.partitions
    ] == [1]
