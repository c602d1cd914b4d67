from odradek.broker.cluster.fetchers.fetch_session_handler import (
    FetchSessionHandler,
    SessionRequest,
)
from odradek.broker.cluster.fetchers.leader_requests import Asked

ID = b"A" * 16
A0, A1, A2 = [Asked("a", ID, number, 5, 100, 4, 0, 1 << 20) for number in range(3)]
P0, P1, P2 = (ID, 0), (ID, 1), (ID, 2)


def session_of(*asked: Asked) -> FetchSessionHandler:
    """One that the leader keeps as number 7."""
    session = FetchSessionHandler()
    for each in asked:
        session.want((each.topic_id, each.partition), each)
    assert session.next_request() == SessionRequest(0, 0, list(asked), [])
    session.took(7)
    return session


def test_what_is_as_before_is_not_named_again() -> None:
    session = session_of(A0, A1)
    moved = A1._replace(offset=101)
    session.want(P0, A0)
    session.want(P1, moved)
    assert session.next_request() == SessionRequest(7, 1, [moved], [])
    session.took(7)
    assert session.next_request() == SessionRequest(7, 2, [], [])


def test_what_is_left_out_is_forgotten_once() -> None:
    session = session_of(A0, A1)
    session.leave_out(P1)
    session.leave_out(P1)
    session.leave_out(P2)
    assert session.next_request() == SessionRequest(7, 1, [], [P1])
    session.took(7)
    session.want(P1, A1)
    assert session.next_request() == SessionRequest(7, 2, [A1], [])


def test_what_is_wanted_again_is_not_forgotten() -> None:
    session = session_of(A0)
    session.leave_out(P0)
    session.want(P0, A0)
    assert session.next_request() == SessionRequest(7, 1, [A0], [])


def test_after_a_lost_request_all_is_said_anew() -> None:
    session = session_of(A0, A1)
    session.leave_out(P0)
    session.next_request()
    session.lost()
    assert session.is_full
    assert session.next_request() == SessionRequest(7, 0, [A1], [])
    session.lost(is_known=False)
    assert session.next_request() == SessionRequest(0, 0, [A1], [])


def test_a_leader_that_keeps_none_is_told_all_each_time_in_turn() -> None:
    session = session_of(A0, A1)
    session.took(0)
    moved = A0._replace(offset=101)
    session.want(P0, moved)
    # Who had something waits until the others had their turn.
    assert session.next_request() == SessionRequest(0, 0, [A1, moved], [])


def test_the_epoch_begins_anew_after_the_largest() -> None:
    session = session_of(A0)
    session._epoch = (1 << 31) - 1
    session.took(7)
    assert session.next_request().epoch == 1
