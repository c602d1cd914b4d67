from collections.abc import Callable

import pytest

from odradek.broker.cluster.registration.membership import (
    NEXT,
    Identity,
    Membership,
    NotAdmitted,
    Stage,
)
from odradek.broker.quorum.image.image import BrokerImage, Endpoint
from odradek.protocol.messages.brokers import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

OURS = b"i" * 16
INTERVAL_MS = 2000


def membership() -> Membership:
    endpoint = Endpoint("PLAINTEXT", "broker-1", 9092)
    identity = Identity(1, "a cluster", OURS, (endpoint,), (b"d" * 16,), "rack-1")
    return Membership(identity, INTERVAL_MS)


def beat(of: Membership) -> tuple[BrokerHeartbeatRequest, int]:
    question = of.next_question()
    assert question is not None
    assert isinstance(question.request, BrokerHeartbeatRequest)
    return question.request, question.wait_ms


def registered(epoch: int = 100) -> Membership:
    made = membership()
    made.take(BrokerRegistrationResponse(broker_epoch=epoch), None)
    return made


def serving() -> Membership:
    made = registered()
    made.applied(100)
    made.take(BrokerHeartbeatResponse(is_caught_up=True), None)
    made.become_ready()
    made.take(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False), None)
    assert made.stage is Stage.SERVING
    return made


def test_it_registers_at_once_with_all_that_it_is() -> None:
    question = membership().next_question()
    assert question is not None
    assert question.wait_ms == 0
    request = question.request
    assert isinstance(request, BrokerRegistrationRequest)
    assert (request.broker_id, request.cluster_id) == (1, "a cluster")
    assert (request.incarnation_id, request.log_dirs) == (OURS, [b"d" * 16])
    assert [each.host for each in request.listeners] == ["broker-1"]
    assert (request.rack, request.previous_broker_epoch) == ("rack-1", -1)
    assert "kraft.version" in {each.name for each in request.features}


def test_the_way_in() -> None:
    made = registered(100)
    made.applied(99)
    request, wait_ms = beat(made)
    assert (request.broker_epoch, request.current_metadata_offset) == (100, 99)
    assert (request.want_fence, request.cordoned_log_dirs, wait_ms) == (True, None, 0)
    made.take(BrokerHeartbeatResponse(is_caught_up=False), None)
    assert beat(made)[1] == 10
    made.applied(100)
    made.take(BrokerHeartbeatResponse(is_caught_up=True), None)
    request, _ = beat(made)
    assert (request.want_fence, request.cordoned_log_dirs) == (True, [])
    made.take(BrokerHeartbeatResponse(is_caught_up=True), None)
    assert beat(made)[1] == INTERVAL_MS  # its logs are opened meanwhile
    made.become_ready()
    request, wait_ms = beat(made)
    assert (request.want_fence, wait_ms) == (False, 0)
    made.take(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False), None)
    assert beat(made)[1] == INTERVAL_MS
    assert not made.is_fenced


def test_who_is_ready_before_it_has_caught_up_does_not_wait() -> None:
    made = registered()
    made.become_ready()
    made.take(BrokerHeartbeatResponse(is_caught_up=True), None)
    assert made.stage is Stage.UNFENCING


def test_who_is_fenced_asks_to_be_let_in_again() -> None:
    made = serving()
    made.take(BrokerHeartbeatResponse(is_fenced=True), None)
    request, wait_ms = beat(made)
    assert (request.want_fence, wait_ms, made.is_fenced) == (False, 0, True)


def test_the_way_out() -> None:
    made = serving()
    made.leave()
    request, wait_ms = beat(made)
    assert (request.want_shut_down, request.want_fence, wait_ms) == (True, False, 0)
    made.take(BrokerHeartbeatResponse(is_fenced=False), None)
    assert beat(made)[1] == 50
    made.take(BrokerHeartbeatResponse(is_fenced=False), None)
    assert beat(made)[1] == INTERVAL_MS
    made.take(BrokerHeartbeatResponse(should_shut_down=True), None)
    assert made.next_question() is None


def test_who_has_not_registered_just_goes() -> None:
    made = membership()
    made.leave()
    assert made.next_question() is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (104, "of another cluster than a cluster"),
        (35, "lacks a feature"),
        (119, "log directory"),
        (31, "CLUSTER_ACTION"),
        (42, "refuse the registration"),
    ],
)
def test_a_registration_that_is_refused_for_good(code: int, words: str) -> None:
    with pytest.raises(NotAdmitted, match=words):
        membership().take(BrokerRegistrationResponse(error_code=code), None)


@pytest.mark.parametrize("code", [101, 41, 7, 15])
def test_a_registration_that_may_be_accepted_later(code: int) -> None:
    made = membership()
    made.take(BrokerRegistrationResponse(error_code=code), None)
    question = made.next_question()
    assert question is not None
    assert question.wait_ms == INTERVAL_MS
    assert made.trouble
    made.take(BrokerRegistrationResponse(broker_epoch=5), None)
    assert (made.stage, made.trouble) == (Stage.CATCHING_UP, "")


def test_an_id_in_use_is_named() -> None:
    made = membership()
    made.take(BrokerRegistrationResponse(error_code=101), None)
    assert made.trouble == "node.id 1 is in use by another broker of the cluster"


def test_who_was_forgotten_registers_again() -> None:
    made = serving()
    made.take(BrokerHeartbeatResponse(error_code=77), None)
    assert made.stage is Stage.REGISTERING
    assert made.is_fenced
    made.take(BrokerRegistrationResponse(broker_epoch=200), None)
    assert beat(made)[0].broker_epoch == 200


def test_who_was_replaced_stops() -> None:
    made = serving()
    theirs = BrokerImage(1, epoch=101, incarnation_id=b"j" * 16)
    with pytest.raises(NotAdmitted, match=r"another broker .* node\.id 1"):
        made.take(BrokerHeartbeatResponse(error_code=77), theirs)


def test_the_process_before_this_one_is_nobody_else() -> None:
    made = registered(100)
    before = BrokerImage(1, epoch=50, incarnation_id=b"h" * 16)
    made.take(BrokerHeartbeatResponse(error_code=77), before)
    assert made.stage is Stage.REGISTERING


def test_an_answer_that_does_not_come_is_asked_for_again() -> None:
    made = serving()
    made.lost("no answer")
    request, wait_ms = beat(made)
    assert (request.want_fence, wait_ms, made.trouble) == (
        False,
        INTERVAL_MS,
        "no answer",
    )


@pytest.mark.parametrize("make", [serving, registered])
def test_an_error_of_a_heartbeat_ends_nothing(make: Callable[[], Membership]) -> None:
    made = make()
    made.take(BrokerHeartbeatResponse(error_code=41), None)
    assert beat(made)[1] == INTERVAL_MS


def test_every_stage_can_be_left_for_the_last_one() -> None:
    def ends(stage: Stage, seen: frozenset[Stage] = frozenset()) -> bool:
        return stage is Stage.GONE or any(
            ends(after, seen | {stage}) for after in NEXT[stage] if after not in seen
        )

    assert all(ends(stage) for stage in Stage)


@pytest.mark.parametrize("code", [0, 77, 41])
def test_what_comes_after_the_stop_changes_nothing(code: int) -> None:
    made = membership()
    made.leave()
    made.take(BrokerRegistrationResponse(error_code=code, broker_epoch=5), None)
    assert (made.stage, made.next_question()) == (Stage.GONE, None)


def test_a_directory_that_fails_is_told_at_once_and_from_then_on() -> None:
    made = serving()
    assert beat(made)[1] == INTERVAL_MS
    made.lose_directory(b"e" * 16)
    request, wait_ms = beat(made)
    assert (request.offline_log_dirs, wait_ms) == ([b"e" * 16], 0)
    assert not made.has_told(b"e" * 16)
    made.lost("nobody answers")
    assert not made.has_told(b"e" * 16)
    beat(made)
    made.take(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False), None)
    assert made.has_told(b"e" * 16)
    assert beat(made)[0].offline_log_dirs == [b"e" * 16]


def test_one_that_fails_while_a_heartbeat_is_on_its_way_is_not_told_by_it() -> None:
    made = serving()
    beat(made)
    made.lose_directory(b"e" * 16)
    made.take(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False), None)
    assert not made.has_told(b"e" * 16)
    request, wait_ms = beat(made)
    assert (request.offline_log_dirs, wait_ms) == ([b"e" * 16], 0)


def test_who_registers_again_does_so_without_what_has_failed() -> None:
    made = serving()
    made.lose_directory(b"d" * 16)
    made.take(BrokerHeartbeatResponse(error_code=77), None)
    question = made.next_question()
    assert question is not None
    assert isinstance(question.request, BrokerRegistrationRequest)
    assert question.request.log_dirs == []
