"""Every help has examples; those that a broker is enough for run as written."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from odradek.broker.cli.completion import words
from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transactional_producer import TransactionalProducer
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from odradek.terminal.parser import Parser
from tests.broker.cli.records.test_produce import typed
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected

COMMAND = re.compile(r"""\bodradek ((?:'[^']*'|[^'|<>#&)"\n])+)""")
ELSEWHERE = re.compile(r"kafka[-.\w]*:9092")
# They start a broker or Spark, need a directory, a file or a login, or wait for a
# client.
ONLY_PARSED = ("serve", "health", "adopt", "fsck", "dump-log", "pipeline", "trace") + (
    *("backup", "restore", "acl", "cert", "secure", "replay", "token", "mirror"),
    *("cluster",),
    *("user set alice --generate --data-dir",),
    *("config show --config", "compact users --partition", "txn abort --topic"),
    *("consume orders --value-format", "produce orders --value-format"),
)
# Those that would go on for ever, or for long.
SHORTENED = {
    "consume orders -o end": ["-c", "0"],
    "consume jobs --share": ["-e"],
    "consume orders payments --group billing": ["-e"],
    "bench": ["--records", "100"],
}
ORDER = (
    *("topic create", "produce", "user set", "quota set", "profile create", ""),
    *("config alter", "txn abort", "user remove", "quota remove", "profile delete"),
    *("group delete-", "group delete", "topic delete-", "topic delete"),
)
STANDARD_INPUT = {"--json-lines": b'{"key": "k", "value": "v"}\n', "": b"k:hello\n"}


def helped(*words: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        assert main([*words, "--help"]) == 0
    return out.getvalue()


def examples() -> list[str]:
    """Commands, without what a shell does with them."""
    known = [key.split() for key in words() if key]
    found: dict[str, None] = {}
    for command in [[], *known, ["pipeline", "sink", "once"]]:
        _, heading, text = helped(*command).partition("\nexamples:\n")
        assert heading, f"odradek {' '.join(command)} --help has no examples"
        found |= dict.fromkeys(each.strip() for each in COMMAND.findall(text))

    def rank(example: str) -> tuple[int, str]:
        at = [at for at, each in enumerate(ORDER) if each and example.startswith(each)]
        return at[0] if at else ORDER.index(""), example

    return sorted(found, key=rank)


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("examples") / "data"
    with running_broker(data_dir, "-o", "log.retention.ms=-1") as process:
        yield process


class Parsed(Exception):
    """The arguments are right."""


def stop_there(parser: Parser, arguments: list[str]) -> NoReturn:
    parser.parse_args(arguments)
    raise Parsed


def fill(cluster: Cluster) -> None:
    """What the examples speak of."""
    for name in ("payments", "returns", "a", "jobs", "scratch-1"):
        create_topic(cluster, NewTopic(name))
    create_topic(cluster, NewTopic("users", configs={"cleanup.policy": "compact"}))
    with Producer(cluster) as producer:
        for topic in ("orders", "a", "users"):
            for number in range(1200):
                record = NewRecord(b"k", b"%d" % number, 1_770_000_000_000)
                producer.send(topic, record, 0)
    offsets = {TopicPartition("orders", number): 0 for number in range(6)}
    offsets |= {TopicPartition("orders", 0): 500, TopicPartition("returns", 0): 0}
    for group in "billing", "old-1", "old-2":
        commit_offsets(cluster, group, offsets)


@contextlib.contextmanager
def transactions(cluster: Cluster) -> Iterator[None]:
    """Three transactional ids; the transaction of one is open."""
    with (
        TransactionalProducer(cluster, "import-7") as ended,
        TransactionalProducer(cluster, "billing-2") as too,
    ):
        for producer in ended, too:
            producer.begin()
            producer.send("scratch-1", NewRecord(None, b"v", 0))
            producer.commit()
    with contextlib.closing(TransactionalProducer(cluster, "billing-1")) as producer:
        producer.begin()
        producer.send("scratch-1", NewRecord(None, b"v", 0))
        producer._producer.flush()
        yield


def test_examples_run_as_written(
    own_broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in "cat.png", "dog.png":
        Path(name).write_bytes(b"\x89PNG")
    Path("bob.password").write_text("open sesame")
    with connected(own_broker.port) as cluster, contextlib.ExitStack() as stack:
        is_filled = False
        for example in examples():
            if not is_filled and not example.startswith(ORDER[0]):
                fill(cluster)
                stack.enter_context(transactions(cluster))
                is_filled = True
            elif example.startswith("topic create orders"):
                run("topic delete orders --if-exists", own_broker, tmp_path)
            run(example, own_broker, tmp_path)


def run(example: str, broker: BrokerProcess, tmp_path: Path) -> None:
    arguments = shlex.split(ELSEWHERE.sub(broker.address, example))
    if example.startswith(ONLY_PARSED):
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Parsed):
            patch.setattr(Parser, "parse", stop_there)
            assert main(arguments) == 0, example
        return
    for start, more in SHORTENED.items():
        arguments += more if example.startswith(start) else []
    is_local = arguments[0] in ("completion", "version", "--version", "profile") or (
        example.startswith(("config show", "config example"))
    )
    if arguments[0] == "compact":
        arguments += ["--data-dir", str(broker.data_dir)]
    elif not is_local and "--bootstrap-server" not in arguments:
        arguments += ["--bootstrap-server", broker.address]
    data = next(of for word, of in STANDARD_INPUT.items() if word in example)
    out, error = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with (
        typed(tmp_path, data),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        code = main(arguments)
    assert (code, error.getvalue()) == (0, ""), f"odradek {example}"
