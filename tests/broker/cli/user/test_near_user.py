import pytest

from odradek.broker.cli.user.near_user import refuse_user
from odradek.client.scram import Credential, Users
from odradek.protocol.errors import InvalidRequest, KafkaError, ResourceNotFound


class Door:
    def __init__(self, *names: str) -> None:
        self._names = names

    def describe(self, names: object = None) -> Users:
        return Users({name: [Credential("x", 1)] for name in self._names}, {})

    def change(self, change: object) -> None:
        raise AssertionError(change)


@pytest.mark.parametrize(
    ("error", "names", "said"),
    [
        (
            ResourceNotFound("no"),
            ("alice",),
            "x: alcie: RESOURCE_NOT_FOUND: no. Did you",
        ),
        (ResourceNotFound("no"), ("bob",), "x: alcie: RESOURCE_NOT_FOUND: no\n"),
        (InvalidRequest("no"), ("alice",), "x: alcie: INVALID_REQUEST: no\n"),
    ],
)
def test_the_user_who_was_meant_is_named(
    error: KafkaError,
    names: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refuse_user("x", Door(*names), error, "alcie") == 1
    assert f"odradek {said}" in capsys.readouterr().err
