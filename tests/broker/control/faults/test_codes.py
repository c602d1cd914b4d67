"""Which error codes each API answers."""

import pytest

from odradek.broker.control.apis import API_NAMES
from odradek.broker.control.faults.codes import (
    _CODES,
    KEY,
    PARTITION,
    TOPIC,
    WHOLE,
    code_named,
    place_of,
    places_of,
)
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import ErrorCode


def place(api: str, code: str, **options: bool) -> str:
    forced = options.pop("is_forced", False)
    return place_of(API_NAMES[api], ErrorCode[code], is_forced=forced, **options)


def test_every_api_that_is_written_down_is_there() -> None:
    for api in _CODES:
        assert api in API_NAMES
        for codes in places_of(api).values():
            assert ErrorCode.NONE not in codes


def test_an_error_stands_at_the_smallest_place() -> None:
    assert place("Produce", "NOT_LEADER_OR_FOLLOWER") == PARTITION
    assert place("Fetch", "FETCH_SESSION_ID_NOT_FOUND") == WHOLE
    assert place("Metadata", "LEADER_NOT_AVAILABLE") == TOPIC
    assert place("Metadata", "LEADER_NOT_AVAILABLE", of_partition=True) == PARTITION
    assert place("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", of_partition=True) == TOPIC
    assert place("FindCoordinator", "COORDINATOR_NOT_AVAILABLE") == KEY
    assert place("OffsetFetch", "NOT_COORDINATOR") == KEY
    assert place("EndTxn", "PRODUCER_FENCED") == WHOLE
    assert place("DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED") == WHOLE


def test_a_code_that_is_never_answered_has_to_be_forced() -> None:
    with pytest.raises(AdminError, match="never answers ILLEGAL_GENERATION"):
        place("Produce", "ILLEGAL_GENERATION")
    assert place("Produce", "ILLEGAL_GENERATION", is_forced=True) == PARTITION


def test_codes_have_names() -> None:
    assert code_named("not_coordinator") is ErrorCode.NOT_COORDINATOR
    with pytest.raises(AdminError, match="did you mean NOT_COORDINATOR"):
        code_named("NOT_COORDINATR")
    with pytest.raises(AdminError, match=r"there is no error 'zzz'$"):
        code_named("zzz")
