"""One request that a rule is at work on."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.faults.call import Call
from odradek.broker.control.subject import Subject
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.protocol.errors import MalformedRequest, NotLeaderOrFollower
from tests.fakes.faulty import Faulty, faulty
from tests.fakes.traced import produce


def call_of(broker: Faulty, **options: Any) -> Call:
    frame = memoryview(produce(0, 1, **options))[4:]
    route, header, request = broker.dispatcher.read(frame)
    [connection] = broker.listener.connections
    services: Any = broker.broker.services
    subject = Subject.of(request, services)
    return Call(
        connection.info,
        frame,
        route,
        header,
        request,
        subject,
        [],
        services,
        broker.dispatcher,
    )


async def test_a_request_is_written_as_it_was_read(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        call = call_of(broker)
        assert bytes(call.frame_of(call.request)) == bytes(call.frame)


async def test_what_is_refused_has_the_error_everywhere(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        call = call_of(broker)
        refused = call.refused(call.request, NotLeaderOrFollower())
        [topic] = refused.responses
        assert [each.error_code for each in topic.partition_responses] == [6, 6]


async def test_without_a_place_for_an_error_the_connection_closes(
    tmp_path: Path,
) -> None:
    async with faulty(tmp_path) as broker:
        call = call_of(broker, acks=0)
        with pytest.raises(MalformedRequest):
            call.refused(call.request, NotLeaderOrFollower())


async def test_no_answer_is_made_into_none(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        call = call_of(broker)
        changed: Any = call.changed(call.unanswered(), lambda _: "something")
        assert changed.answer is NO_RESPONSE
        assert changed.correlation_id == call.header.correlation_id
