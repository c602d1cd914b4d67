import argparse
from collections.abc import Callable
from typing import Any, cast

import pytest

from odradek.broker.cli.token import expiry
from odradek.client.cluster import Cluster
from odradek.client.delegation_tokens import Token
from odradek.client.security.settings import Secret
from odradek.protocol.errors import DelegationTokenExpired

TOKEN = Token("t1", "User:alice", "User:alice", [], 1, 2, 3, Secret("aG1hYw=="))
NOBODY = cast(Cluster, None)


@pytest.fixture
def changed(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., list[tuple[str, int]]]:
    """What a broker that has one token is told of it."""
    monkeypatch.setattr(expiry, "find", lambda *_: TOKEN)

    def change(period: float | None, **options: Any) -> list[tuple[str, int]]:
        told = []

        def note(_: Cluster, hmac: Secret, period_ms: int) -> int:
            told.append((hmac.value, period_ms))
            return 0

        given = argparse.Namespace(period=period, json=False, token="t1", **options)
        assert expiry.change_expiry("token renew", NOBODY, given, note, -1) == 0
        return told

    return change


def test_the_period_is_told_in_milliseconds_and_zero_is_one(
    changed: Callable[..., list[tuple[str, int]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert changed(2.5) == [("aG1hYw==", 2500)]
    assert capsys.readouterr().out.startswith("t1: holds until 1970-01-01")
    assert changed(None) == [("aG1hYw==", -1)]
    assert changed(0) == [("aG1hYw==", 0)]


def test_what_the_broker_refuses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(expiry, "find", lambda *_: TOKEN)

    def refuse(*_: object) -> int:
        raise DelegationTokenExpired

    given = argparse.Namespace(period=None, json=False, token="t1")
    assert expiry.change_expiry("token renew", NOBODY, given, refuse, -1) == 1
    error = capsys.readouterr().err
    assert error.startswith("odradek token renew: t1: DELEGATION_TOKEN_EXPIRED")
