"""What a shell is told of a broker's names, and how much it waits for them."""

import socket

import pytest

from odradek.broker.cli import completion_names
from odradek.broker.cli.completion_names import (
    Typed,
    behind_break,
    has_value,
    names_of,
    typed,
)
from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transactional_producer import TransactionalProducer
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S

Captured = pytest.CaptureFixture[str]


def test_words_become_a_command_and_its_rest() -> None:
    known = {"topic describe", "consume"}
    assert typed(["topic", "describe", "a", "b"], known) == Typed(
        "topic describe", ["a"], "b"
    )
    assert typed(["topic", "list", "a"], known) == Typed("topic", ["list"], "a")
    assert typed(["consume", ""], known) == Typed("consume", [], "")
    assert typed([], known) == Typed("", [], "")


def test_what_bash_has_cut_is_one_word() -> None:
    words = ["consume", "--bootstrap-server", "a", ":", "1,b", ":", "2", "orders"]
    assert typed(words, ["consume"]).rest == ["--bootstrap-server", "a:1,b:2"]
    line = typed(["config", "x", "--bootstrap-server", "=", "a", "retention", "="], [])
    assert line.rest == ["x", "--bootstrap-server=a"]
    assert line.current == "retention="
    assert behind_break(["team:orders", "team:bills"], "team:o") == ["orders", "bills"]
    assert behind_break(["retention.ms="], "retention.ms=") == []
    assert behind_break(["orders"], "or") == ["orders"]


def test_which_options_take_a_value() -> None:
    help_text = "usage: x [--json] [-g GROUP]\n  --timeout TIME  how long; --json is\n"
    assert has_value("--timeout", help_text)
    assert has_value("-g", help_text)
    assert not has_value("--json", help_text)
    assert not has_value("--time", help_text)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion_names, "_TIMEOUT_S", PATIENCE_S)


class Shell:
    def __init__(self, broker: BrokerProcess, captured: Captured) -> None:
        self._where = ["--bootstrap-server", broker.address]
        self._captured = captured

    def names(self, command: str, *words: str) -> list[str]:
        given = [*command.split(), *self._where, *words]
        assert main(["completion", "names", "--", *given]) == 0
        captured = self._captured.readouterr()
        assert captured.err == ""
        return captured.out.splitlines()


@pytest.fixture
def typing(group_broker: BrokerProcess, capsys: Captured, patient: None) -> Shell:
    return Shell(group_broker, capsys)


def test_names_of_a_broker(typing: Shell, cluster: Cluster) -> None:
    for name in "typed-1", "typed-2":
        create_topic(cluster, NewTopic(name))
    commit_offsets(cluster, "typed group", {TopicPartition("typed-1", 0): 0})
    with TransactionalProducer(cluster, "typed-id"):
        pass
    assert typing.names("topic describe", "typed-") == ["typed-1", "typed-2"]
    assert typing.names("consume", "typed-1", "--json", "typed-2") == ["typed-2"]
    assert typing.names("consume", "-g", "typed") == ["typed group"]
    assert typing.names("group describe", "--all", "typed") == ["typed group"]
    assert typing.names("txn describe", "typed") == ["typed-id"]
    assert typing.names("produce", "--transaction", "typed") == ["typed-id"]
    assert typing.names("topic describe", "__cons") == ["__consumer_offsets"]
    assert not any(name.startswith("__") for name in typing.names("consume", ""))


def test_no_names_where_something_else_stands(typing: Shell, cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("typed-else"))
    assert typing.names("consume", "typed-e") == ["typed-else"]
    assert typing.names("consume", "--timeout", "typed-e") == []
    assert typing.names("consume", "--") == []
    assert typing.names("topic list", "typed-e") == []


def test_options_of_a_broker(typing: Shell, cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("typed-options"))
    alter = "config alter", "topic", "typed-options"
    assert typing.names(*alter, "--set", "retention.m") == ["retention.ms="]
    assert typing.names(*alter, "--delete", "retention.m") == ["retention.ms"]
    assert typing.names("topic alter", "typed-options", "--config", "retention.m") == [
        "retention.ms="
    ]
    assert typing.names("config describe", "") == [
        *("topic", "broker", "broker-logger", "group", "client-metrics")
    ]
    assert typing.names("config describe", "topic", "typed-o") == ["typed-options"]
    assert typing.names("config describe", "broker", "") == ["1"]


def test_options_of_our_own_need_no_broker(capsys: Captured) -> None:
    for words, name in {
        ("topic", "create", "x", "--config", "retention.m"): "retention.ms=",
        ("serve", "-o", "num.part"): "num.partitions=",
        ("config", "show", "num.part"): "num.partitions",
    }.items():
        assert main(["completion", "names", "--", *words]) == 0
        assert capsys.readouterr().out.split() == [name]


def test_nobody_there_is_silence(capsys: Captured) -> None:
    for where in (["--bootstrap-server", "127.0.0.1:1"], ["--data-dir", "/not/there"]):
        assert main(["completion", "names", "--", "consume", *where, ""]) == 0
        assert capsys.readouterr() == ("", "")
    assert main(["completion", "names", "--", "consume", "--bootstrap-server", ""]) == 0
    assert capsys.readouterr() == ("", "")


def test_who_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(completion_names, "_TIMEOUT_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        where = ["--bootstrap-server", address]
        assert main(["completion", "names", "--", "consume", *where, ""]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_name_that_a_terminal_would_obey_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["good", "bad\x1b[2J", "also good"]
    monkeypatch.setitem(completion_names._PLACES, "group describe", lambda line: names)
    line = Typed("group describe", [], "")
    assert names_of(line, lambda line: False) == ["good", "also good"]
