import argparse
import socket
import threading

import pytest

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    offset,
    topic,
    word_of,
)
from odradek.broker.cli.group.command import command
from odradek.broker.cli.main import main

Captured = pytest.CaptureFixture[str]


def test_the_broker_is_the_local_one_unless_another_is_named() -> None:
    parser = cluster_parser("group list", "Lists.")
    assert parser.parse([]).bootstrap_server == [("127.0.0.1", 9092)]
    options = parser.parse(["--bootstrap-server", "a:1,b", "--timeout", "500ms"])
    assert options.bootstrap_server == [("a", 1), ("b", 9092)]
    assert options.timeout == 0.5


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--bootstrap-server", "a:x"],
            "'a:x' is not an address; write it like",
        ),
        (["--bootstrap-server", "9092"], "write it like localhost:9092"),
        (["--bootstrap-sever", "a"], "did you mean --bootstrap-server?"),
        (["--timeout", "0"], "it must be more than 0"),
        (["--timeout", "soon"], "write it like 30s"),
    ],
)
def test_mistakes(arguments: list[str], complaint: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        command(["list", *arguments])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_topics() -> None:
    assert topic("orders") == ("orders", None)
    assert topic("orders:0") == ("orders", (0,))
    assert topic("a.b_c-d:3,1,3") == ("a.b_c-d", (1, 3))
    for text in ("", ":0", "a:", "a:x", "a:0,", "a:-1", "a b", "a,b"):
        with pytest.raises(argparse.ArgumentTypeError, match="write it like orders"):
            topic(text)


def test_words() -> None:
    words = word_of(("Stable", "Empty"))
    assert words("stable,EMPTY") == ["Stable", "Empty"]
    with pytest.raises(
        argparse.ArgumentTypeError, match="'Empti' is not known; did you mean Empty"
    ):
        words("Empti")
    with pytest.raises(
        argparse.ArgumentTypeError, match="'x' is not known; there are Stable, Empty"
    ):
        words("x")


def test_nobody_there_is_one_line_and_code_1(capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert command(["list", "--bootstrap-server", address]) == 1
    error = capsys.readouterr().err
    assert error == (
        f"odradek group list: {address}: Connection refused; 'odradek serve --port"
        f" {address.partition(':')[2]}' starts a broker there, 'odradek doctor"
        f" --bootstrap-server {address}' finds out what is wrong\n"
    )


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (
            b"HTTP/1.1 400 Bad Request",
            "not a Kafka broker, or a broken one: 127.0.0.",
        ),
        (b"", "the broker closed the connection"),
    ],
)
def test_somebody_else_there(answer: bytes, complaint: str, capsys: Captured) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert command(["list", "--bootstrap-server", address]) == 1
        thread.join(10)
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_whole_numbers_may_be_negative() -> None:
    assert (offset("-3"), offset("0"), offset("12")) == (-3, 0, 12)
    for text in ("", "x", "1.5", "--1", "\uff13", "9" * 30):
        with pytest.raises(argparse.ArgumentTypeError, match="not a whole number"):
            offset(text)


def test_a_file_that_is_not_there_is_named(capsys: Captured) -> None:
    given = ["produce", "t", "--file", "/not/there"]
    assert main([*given, "--bootstrap-server", "127.0.0.1:1"]) == 1
    error = capsys.readouterr().err
    assert error == "odradek produce: /not/there: No such file or directory\n"
