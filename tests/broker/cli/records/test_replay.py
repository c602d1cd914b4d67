"""``odradek replay``: recordings, asked again from the command line."""

from pathlib import Path

from odradek.client.cluster import Cluster
from odradek.client.replay import recording as form
from odradek.client.replay.recording import Answered, Asked
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import encode_request, encode_response
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.broker.cli.conftest import Shell

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def recording(path: Path) -> str:
    """Somebody asked for a topic that was not there."""
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="replayed")], allow_auto_topic_creation=False
    )
    response = MetadataResponse(
        controller_id=7,
        topics=[MetadataResponseTopic(error_code=UNKNOWN, name="replayed")],
    )
    asked = encode_request(request, 9, 1, "client")[4:]
    answered = b"".join(encode_response(response, 9, 1))[4:]
    lines = [
        form.head_line("1", 0),
        form.event_line(Asked(1, 1, "client", "Metadata", asked)),
        form.event_line(Answered(1, answered)),
        form.end_line(1),
    ]
    path.write_bytes(b"".join(lines))
    return str(path)


def test_answers_are_as_they_were_until_they_are_not(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    path = recording(tmp_path / "r")
    assert shell.run("replay", path) == ["1 call, all answered as they were"]
    assert shell.run_json("replay", path) == [{"calls": 1, "differences": 0}]
    create_topic(cluster, NewTopic("replayed"))
    lines = shell.run("replay", path, code=1)
    assert lines == [
        'call 1, Metadata v9: topics[replayed].error_code: recorded "'
        'UNKNOWN_TOPIC_OR_PARTITION", now "NONE"',
        "call 1, Metadata v9: topics[replayed].partitions.length: recorded 0, now 1",
    ]
    assert shell.error == "odradek replay: 2 differences in 1 call\n"
    first, _, end, error = shell.run_json("replay", path, code=1)
    assert first["difference"]["found"] == "NONE"
    assert end == {"calls": 1, "differences": 2}
    assert error["error"]["code"] == "DIFFERENT"
    masks = ("--mask", "topics.error_code", "--mask", "partitions")
    assert shell.run("replay", path, *masks) == ["1 call, all answered as they were"]


def test_what_is_no_recording_is_said(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text("{}\n")
    assert shell.run("replay", str(path), code=1) == []
    assert shell.error == f"odradek replay: {path}, line 1: no recording begins so\n"
