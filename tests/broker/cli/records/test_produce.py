import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.producer import ProducerSettings
from odradek.client.topics import NewTopic, create_topic
from tests.broker.cli.conftest import Shell
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in

Found = list[tuple[bytes | None, bytes | None]]


@contextlib.contextmanager
def typed(tmp_path: Path, data: bytes) -> Iterator[None]:
    """The standard input is a file with these bytes."""
    path = tmp_path / "typed"
    path.write_bytes(data)
    with path.open() as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", source)
        yield


def never_creating(**given: Any) -> ProducerSettings:
    return ProducerSettings(**{**given, "creates_topics": False})


def test_a_topic_is_made_when_it_is_named(shell: Shell, tmp_path: Path) -> None:
    for more in ((), ("--transaction", "making")):
        topic = f"named-{len(more)}"
        with typed(tmp_path, b"hello\n"):
            shell.run("produce", topic, *more)
        assert shell.run("consume", topic, "-c", "1") == ["hello"]


def records(cluster: Cluster, topic: str) -> Found:
    return [(each.key, each.value) for each in records_in(cluster, topic, 0)]


def test_lines_become_records(cluster: Cluster, shell: Shell, tmp_path: Path) -> None:
    create_topic(cluster, NewTopic("lines"))
    with typed(tmp_path, b"one\n\nthree"):
        assert shell.run("produce", "lines") == ["lines: 3 records written"]
    assert records(cluster, "lines") == [(None, b"one"), (None, b""), (None, b"three")]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_keys_headers_times_and_codecs(
    cluster: Cluster, shell: Shell, tmp_path: Path, codec: str
) -> None:
    topic = f"keys-{codec}"
    create_topic(cluster, NewTopic(topic, 2))
    given = ("-K", r"\t", "-H", "a=1", "-H", "none", "-z", codec, "-p", "1")
    with typed(tmp_path, b"k\tv;l\tw;"):
        written = shell.run_json(
            *(
                "produce",
                topic,
                *given,
                "-D",
                ";",
                "--timestamp",
                "1970-01-01T00:00:09Z",
            )
        )
    assert written == [{"topic": topic, "partition": 1, "offset": 0, "count": 2}]
    found = list(records_in(cluster, topic, 1))
    assert [each[1:] for each in found] == [
        (9000, b"k", b"v", (("a", b"1"), ("none", None))),
        (9000, b"l", b"w", (("a", b"1"), ("none", None))),
    ]


def test_json_lines_as_consume_writes_them(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, NewTopic("json-in", 3))
    create_topic(cluster, NewTopic("json-out", 3))
    lines: list[dict[str, Any]] = [
        {"key": "k", "value": "v", "partition": 2, "timestamp": 4},
        {"key": None, "value": {"base64": "/w=="}, "partition": 0},
        {"key": "none", "headers": [["h", None], ["h", "2"]], "partition": 0},
    ]
    data = "\n\n".join(map(json.dumps, lines)).encode()
    with typed(tmp_path, data):
        shell.run("produce", "json-in", "--json-lines")
    first = shell.run_json("consume", "json-in", "-e")
    with typed(tmp_path, "\n".join(map(json.dumps, first)).encode()):
        shell.run("produce", "json-out", "--json-lines", "--acks", "1")
    cluster.retry.run(
        lambda: _check_count(shell, "json-out", 3),
        lambda error: isinstance(error, AssertionError),
    )
    again = shell.run_json("consume", "json-out", "-e")
    for each in [*first, *again]:
        del each["topic"]
    assert sorted(map(str, again)) == sorted(map(str, first))
    assert len(first) == 3


def _check_count(shell: Shell, topic: str, count: int) -> None:
    assert len(shell.run_json("consume", topic, "-e")) == count


def test_whole_files(cluster: Cluster, shell: Shell, tmp_path: Path) -> None:
    create_topic(cluster, NewTopic("files"))
    paths = [tmp_path / "one", tmp_path / "two"]
    paths[0].write_bytes(b"a\nb\n\0")
    paths[1].write_bytes(b"")
    given = [text for path in paths for text in ("--file", str(path))]
    assert shell.run("produce", "files", *given, "-k", "k", "-Z") == [
        "files: 2 records written"
    ]
    assert records(cluster, "files") == [(b"k", b"a\nb\n\0"), (b"k", None)]
    missing = str(tmp_path / "three")
    shell.run("produce", "files", "--file", missing, code=1)
    assert "No such file" in shell.error


def test_a_transaction_has_everything_or_nothing(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, NewTopic("whole"))
    given = ("produce", "whole", "--transaction", "tx-whole", "--json-lines")
    with typed(tmp_path, b'{"value": "1"}\n{"value": "2"}\n'):
        assert shell.run(*given) == ["whole: 2 records written"]
    with typed(tmp_path, b'{"value": "3"}\n{"bad": 1}\n'):
        shell.run(*given, code=1)
    assert shell.error == (
        "odradek produce: line 2: 'bad' is not a field of a record; 0 written\n"
    )
    settle(cluster, "whole")
    assert records(cluster, "whole") == [(None, b"1"), (None, b"2")]


def test_what_came_before_a_bad_line_is_written(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, NewTopic("partly-bad"))
    with typed(tmp_path, b"a:b\nc\nd:e\n"):
        shell.run("produce", "partly-bad", "-K:", code=1)
    assert (
        shell.error == "odradek produce: line 2: it has no key separator; 1 written\n"
    )
    assert records(cluster, "partly-bad") == [(b"a", b"b")]


def test_what_the_broker_refuses(
    cluster: Cluster,
    shell: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_topic(cluster, NewTopic("keyed-only", configs={"cleanup.policy": "compact"}))
    with typed(tmp_path, b"no key\n"):
        shell.run("produce", "keyed-only", code=1)
    assert shell.error.startswith("odradek produce: keyed-only-0: INVALID_RECORD: ")
    assert shell.error.endswith("(1 not written, 0 written)\n")
    monkeypatch.setattr("odradek.client.producer._UNKNOWN_TOPIC_S", 0.1)
    monkeypatch.setattr("odradek.client.producer.ProducerSettings", never_creating)
    with typed(tmp_path, b"x\n"):  # as where auto.create.topics.enable is false
        shell.run("produce", "no-such-topic", code=1)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in shell.error
    assert "'odradek topic create no-such-topic' makes it" in shell.error
    with typed(tmp_path, b"x\n"):
        shell.run("produce", "keyed-only", "-p", "7", code=1)
    assert shell.error == (
        "odradek produce: keyed-only: UNKNOWN_TOPIC_OR_PARTITION: Topic keyed-only has"
        " no partition 7, only 0.\n"
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["--json-lines", "-K:"], "JSON lines have their keys"),
        (["--file", "f", "-K:"], "--file takes whole files"),
        (["--transaction", "x", "--acks", "1"], "needs --acks all"),
        (["--acks", "2"], "'2' is not known; write all, 1 or 0"),
        (["-H", "=1"], "not a header; write NAME=VALUE"),
        (["--timestamp", "soon"], "not a date and time"),
        (["-D", r"\q"], r"\q is not known"),
    ],
)
def test_mistakes(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["produce", "t", *given])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_nobody_types_and_nothing_happens(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, NewTopic("untouched"))
    with typed(tmp_path, b""):
        assert shell.run("produce", "untouched") == ["untouched: 0 records written"]


def test_a_partition_that_a_new_topic_would_not_have(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, NewTopic("meant-3"))
    for name, hint in {
        "meant-33": "Did you mean meant-3? ",
        "utterly-new": "",
    }.items():
        with typed(tmp_path, b"x\n"):
            (said,) = shell.run_json("produce", name, "-p", "17", code=1)
        assert said["error"]["code"] == "UNKNOWN_TOPIC_OR_PARTITION"
        assert said["error"]["what"] == name
        assert said["error"]["message"].endswith(
            f"no partition 17. {hint}'odradek topic create {name} --partitions 18'"
            " makes it."
        )
        assert name not in cluster.metadata().topics


class Terminal:
    """A standard input at which somebody sits, and ends it at once."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.buffer = path.open("rb")

    def close(self) -> None:
        self.buffer.close()

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("more", "what"), [((), "a record"), (("--json-lines",), "a JSON object")]
)
def test_who_sits_at_a_terminal_is_told_what_to_do(
    more: tuple[str, ...],
    what: str,
    cluster: Cluster,
    group_broker: BrokerProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["produce", "invited", *more, "--bootstrap-server", group_broker.address]
    with contextlib.closing(Terminal(tmp_path / "typed")) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        assert main(given) == 0
    assert capsys.readouterr() == (
        "invited: 0 records written\n",
        f"odradek produce: type {what} a line for invited; Ctrl-D ends\n",
    )
