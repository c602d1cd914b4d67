import json

import pytest

from odradek.broker.cli.cluster.failures import said
from odradek.broker.quorum.image.error import MetadataLogError
from odradek.client.errors import NoAnswer
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    MalformedRequest,
    UnknownTopicId,
)
from odradek.terminal.failure import answer_in_json


def failing(error: Exception) -> int:
    def act() -> int:
        raise error

    return said("cluster watch", act)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoAnswer("no answer in 2 s"), "UNREACHABLE"),
        (ConnectionRefusedError(111, "Connection refused"), "UNREACHABLE"),
        (PermissionError(13, "Permission denied", "d"), "FAILED"),
        (MetadataLogError("offset 7"), "BAD_METADATA_LOG"),
        (MalformedRequest("a web server answers"), "NOT_KAFKA"),
        (ClusterAuthorizationFailed(), "CLUSTER_AUTHORIZATION_FAILED"),
        (UnknownTopicId(), "UNKNOWN_TOPIC_ID"),
    ],
)
def test_every_failure_has_a_name(
    error: Exception, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_in_json(True)
    try:
        assert failing(error) == 1
    finally:
        answer_in_json(False)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == code
    assert captured.err.startswith("odradek cluster watch: ")
    assert captured.err.count("\n") == 1


def test_what_does_not_fail_has_its_own_exit_code() -> None:
    assert said("cluster watch", lambda: 1) == 1
