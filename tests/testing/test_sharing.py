"""What concerns other tests is refused on a broker that they use as well."""

import pytest

from odradek.testing import SharedBroker
from odradek.testing.sharing import check_shared


@pytest.mark.parametrize(
    "request_name",
    [
        "clock.advance",
        "clock.freeze",
        "reset",
        "process.freeze",
        "kill",
        "stop",
        "close",
    ],
)
def test_what_others_would_notice_is_refused(request_name: str) -> None:
    with pytest.raises(SharedBroker, match="odradek_own"):
        check_shared(request_name)


@pytest.mark.parametrize("match", [{}, {"api": "Produce"}, {"topic": "*"}, None])
def test_a_rule_for_everybody_is_refused(match: object) -> None:
    with pytest.raises(SharedBroker, match="topic, group"):
        check_shared("faults.arm", {"match": match})


@pytest.mark.parametrize("scope", ["topic", "group", "transactional_id", "client_id"])
def test_a_rule_for_what_a_test_has_is_taken(scope: str) -> None:
    check_shared("faults.arm", {"match": {"api": "Produce", scope: "mine"}})


@pytest.mark.parametrize(
    "request_name", ["topics.create", "records.read", "wait", "state", "faults.list"]
)
def test_what_concerns_nobody_else_is_taken(request_name: str) -> None:
    check_shared(request_name)


def test_rules_are_cleared_by_their_ids_only() -> None:
    check_shared("faults.clear", {"id": 1})
    with pytest.raises(SharedBroker):
        check_shared("faults.clear")


def test_a_rule_with_a_scope_is_taken() -> None:
    check_shared("faults.arm", {"match": {"api": "Produce"}, "scope": "test_x-main-"})


def test_one_client_can_be_disconnected() -> None:
    check_shared("process.disconnect", {"client_id": "mine"})
    with pytest.raises(SharedBroker):
        check_shared("process.disconnect", {"client_id": "*"})
