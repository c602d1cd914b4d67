from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.requests import short_ways
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.short_ways import NO_SHORT_WAYS, ShortWays, UsersShortWays
from odradek.protocol.messages.groups import HeartbeatRequest

REQUEST = HeartbeatRequest()


def of(user: str) -> ConnectionInfo:
    return ConnectionInfo(principal=f"User:{user}")


def test_each_user_has_its_own() -> None:
    ways = UsersShortWays()
    assert ways.of(of("a")) is ways.of(of("a"))
    assert ways.of(of("a")) is not ways.of(of("b"))
    assert ways.of(of("a")).user == "a"


def test_what_is_forgotten_is_stale_for_whoever_has_it() -> None:
    ways = UsersShortWays()
    own = ways.add(ShortWays("a"))
    for each in (ways.of(of("a")), own):
        each.by_api[b"api"] = None
    mine = ways.of(of("a"))
    ways.forget()
    for each in (mine, own):
        assert each.is_stale
        assert not each.by_api
    assert not ways.of(of("a")).is_stale


def test_the_rule_is_asked_for_its_user_and_a_new_one_makes_all_anew() -> None:
    ways = UsersShortWays()
    assert ways.of(of("a")).admits("c", REQUEST)
    before = ways.of(of("a"))
    asked: list[Any] = []
    ways.admit(lambda *question: bool(asked.append(question)))
    assert before.is_stale
    assert not ways.of(of("a")).admits("c", REQUEST)
    assert asked == [("a", "c", REQUEST)]
    ways.admit(None)
    assert ways.of(of("a")).admits("c", REQUEST)


def test_something_may_be_put_around_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def make(services: Any, version: int, ways: ShortWays) -> Any:
        made.append((services, version, ways))
        return "shortcut"

    makers = {HeartbeatRequest: make}
    monkeypatch.setattr(
        short_ways, "shortcut_maker", lambda request_class, _: makers.get(request_class)
    )
    ways = ShortWays("a", surround=lambda route, shortcut: ("around", shortcut))  # type: ignore[arg-type,return-value]
    for api, request_class in ((b"api!", HeartbeatRequest), (b"none", object)):
        handler = SimpleNamespace(
            request_class=request_class, handles_version=lambda version: True
        )
        route: Any = SimpleNamespace(handler=handler, api_version=4)
        ways.learn(api, route, "services")  # type: ignore[arg-type]
        if request_class is HeartbeatRequest:
            assert ways.by_api[api] == (route, ("around", "shortcut"))
    assert ways.by_api[b"none"] is None
    assert made == [("services", 4, ways)]


def test_users_without_end_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(short_ways, "USERS_MAX", 10)
    ways = UsersShortWays()
    kept = ways.of(of("kept"))
    for number in range(100):
        ways.of(of(f"user-{number}"))
    assert len(ways._by_user) <= 10
    assert len(ways._living) <= 11
    ways.forget()
    assert kept.is_stale, "though nobody finds it any more"


def test_who_becomes_somebody_else_leaves_what_was_remembered() -> None:
    connection = ConnectionInfo()
    assert connection.user == "ANONYMOUS"
    connection.short_ways = UsersShortWays().of(connection)
    connection.become("User:a")
    assert connection.user == "a"
    assert connection.short_ways is NO_SHORT_WAYS
    assert NO_SHORT_WAYS.is_stale
    assert not NO_SHORT_WAYS.by_api
