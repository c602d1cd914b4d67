"""``error``: a code in the answer, in place of what was asked or on top of it.

``code`` is its name. Without ``applied`` nothing of what the rule means is done; the
rest of the request is. It stands at the smallest place that the API has for it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from odradek.broker.control.apis import name_of_api
from odradek.broker.control.fields import Fields, refusal
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError, error_class
from odradek.protocol.messages.fetch import FetchableTopicResponse, PartitionData
from odradek.protocol.messages.group_admin import (
    DeletableGroupResult,
    DeleteGroupsResponse,
)

from .action import Action
from .codes import PARTITION, TOPIC, code_named, place_of
from .refusals import Refusal, merge

if TYPE_CHECKING:
    from odradek.broker.requests.dispatch import Exchange

    from .call import Call, Proceed
    from .match import Match

# These change nothing: they are done, and their answer is changed.
_READING = ("Describe", "Fetch", "Find", "List", "Metadata", "OffsetF", "ApiVersions")


class Error(Action):
    """Answers with a code."""

    name = "error"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.code = fields.text("code")
        self.applied = fields.flag("applied", False)
        self.force = fields.flag("force", False)
        fields.end()
        if match.api is None:
            raise refusal("an error needs the api whose requests it is for")
        self._match = match
        self._code = code_named(self.code)
        if self._code == ErrorCode.NONE:
            raise refusal("NONE is not an error")
        self.code = self._code.name
        self._place = place_of(
            match.api,
            self._code,
            is_forced=self.force,
            of_partition=match.partition is not None,
        )

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """The error at what is meant; the rest is done as ever."""
        return put_error(
            call,
            proceed,
            Refusal(self._match, self._place, self._code, call.services),
            self._code,
            self._place,
            is_applied=self.applied,
        )


def put_error(
    call: Call,
    proceed: Proceed,
    refusal: Refusal,
    code: ErrorCode,
    place: str,
    *,
    is_applied: bool = False,
) -> Exchange | bytes:
    """Answer with ``code`` at what is meant by ``refusal``."""
    api = name_of_api(call.header.api_key)
    if is_applied or api.startswith(_READING):
        frame = call.frame if is_applied else _quiet(call)

        def mark(response: Any) -> Any:
            if call.header.api_key == ApiKey.FETCH and place == PARTITION:
                _name_all(call, response)
            return refusal.mark(response)

        return call.changed(proceed(frame), mark)
    error = error_class(code)()
    error.code = code  # type: ignore[misc]  # some codes have no class
    meant, rest = call.request, None
    if place in (PARTITION, TOPIC):
        meant, rest = refusal.without_meant(call.request)
    if meant is None:
        return proceed(call.frame)
    refused = _refused(call, meant, error)
    if rest is None:
        return call.answered(refused)
    return call.changed(proceed(call.frame_of(rest)), lambda it: merge(it, refused))


def _refused(call: Call, request: Any, error: KafkaError) -> Any:
    """The answer to a request of which nothing is done."""
    code = int(error.code)
    if call.header.api_key == ApiKey.DELETE_GROUPS:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=each, error_code=code)
                for each in request.groups_names
            ]
        )
    return call.refused(request, error)


def _quiet(call: Call) -> memoryview:
    """The same request, which neither waits nor changes anything."""
    request, api_key = copy.copy(call.request), call.header.api_key
    if api_key == ApiKey.FETCH:
        request.max_wait_ms = request.min_bytes = 0
    elif api_key == ApiKey.METADATA and call.header.api_version >= 4:
        request.allow_auto_topic_creation = False
    else:
        return call.frame
    return call.frame_of(request)


def _name_all(call: Call, response: Any) -> None:
    """In a session only what has news is answered: an error is news of all."""
    there = {
        (call.services.metadata.by_id(each.topic_id), each.topic): each
        for each in response.responses
    }
    for name, numbers in call.subject.topics.items():
        topic = call.services.metadata.get(name)
        if topic is None:
            continue
        found = there.get((topic, "")) or there.get((None, name))
        if found is None:
            found = FetchableTopicResponse(topic=name, topic_id=topic.topic_id)
            response.responses.append(found)
        known = {each.partition_index for each in found.partitions}
        found.partitions += [
            PartitionData(
                partition_index=each,
                high_watermark=-1,
                aborted_transactions=None,
                records=b"",
            )
            for each in sorted(numbers - known)
        ]
