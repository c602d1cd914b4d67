import signal
import threading

import pytest

from odradek.client.connection import Connection
from odradek.client.heartbeats import Heartbeats, Session
from odradek.protocol.errors import ErrorCode, UnknownMemberId
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from tests.client.live import wait_until
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

SESSION = Session(1, "g", 3, "m")
INTERVAL_S = 0.001


def beats_of(script: ScriptedCluster, session: Session, node_id: int = 1) -> int:
    return script.brokers[node_id].asked.count(session.request())


def answer_well(asked: HeartbeatRequest, version: int) -> HeartbeatResponse:
    return HeartbeatResponse()


def trouble_of(beats: Heartbeats) -> Exception:
    found: list[Exception] = []

    def look() -> bool:
        trouble = beats.trouble()
        found.extend([] if trouble is None else [trouble])
        return bool(found)

    wait_until(look)
    return found[0]


def test_it_beats_for_the_session_of_now() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.script(HeartbeatRequest, answer_well)
        cluster.metadata()
        beats = Heartbeats(cluster.open_connection, INTERVAL_S)
        beats.beat_for(SESSION)
        wait_until(lambda: beats_of(script, SESSION) > 1)
        moved = SESSION._replace(node_id=2, generation_id=4)
        beats.beat_for(moved)
        wait_until(lambda: beats_of(script, moved, 2) > 1)
        assert beats.trouble() is None
        beats.stop()


def test_trouble_is_told_once_and_only_of_the_session_of_now() -> None:
    unknown = HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    with scripted_cluster() as script, script.client() as cluster:
        script.script(HeartbeatRequest, lambda asked, version: unknown)
        cluster.metadata()
        beats = Heartbeats(cluster.open_connection, INTERVAL_S)
        beats.beat_for(SESSION)
        assert isinstance(trouble_of(beats), UnknownMemberId)
        wait_until(lambda: beats_of(script, SESSION) > 2)
        beats.beat_for(None)
        assert beats.trouble() is None
        beats.stop()


def test_a_lost_connection_is_trouble_and_another_is_made() -> None:
    rest = [None, HeartbeatResponse()]  # hang up once
    with scripted_cluster() as script, script.client() as cluster:
        script.script(
            HeartbeatRequest,
            lambda asked, version: rest.pop(0) if len(rest) > 1 else rest[0],
        )
        cluster.metadata()
        beats = Heartbeats(cluster.open_connection, INTERVAL_S)
        beats.beat_for(SESSION)
        assert isinstance(trouble_of(beats), ConnectionError)
        wait_until(lambda: beats_of(script, SESSION) > 2)
        beats.stop()


def test_its_thread_takes_no_signals() -> None:
    blocked: list[set[int]] = []

    def connect(node_id: int) -> Connection:
        blocked.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
        raise ConnectionError

    beats = Heartbeats(connect, INTERVAL_S)
    beats.beat_for(SESSION)
    assert isinstance(trouble_of(beats), ConnectionError)
    beats.stop()
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= blocked[0]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_thread_that_was_not_started_need_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupt)
    beats = Heartbeats(lambda _: pytest.fail("it has no thread"), INTERVAL_S)
    with pytest.raises(KeyboardInterrupt):
        beats.beat_for(SESSION)
    beats.stop()
