import argparse
import contextlib
import io
import json

import pytest

from odradek.terminal.failure import fail
from odradek.terminal.parser import PAIR, Parser, host, json_argument, port, seconds


def a_parser() -> Parser:
    parser = Parser("serve", "Serves.")
    parser.add_argument("--port", type=port)
    parser.add_argument("--data-dir")
    parser.add_argument("--host", type=host)
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("-o", metavar=PAIR)
    return parser


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--prot", "1"], "unknown argument --prot; did you mean --port?"),
        (["--data_dir=x"], "unknown argument --data_dir=x; did you mean --data-dir?"),
        (["--qqqqqqq"], "unknown argument --qqqqqqq (see"),
        (["now"], "unknown argument now (see"),
        (["--port", "x"], "argument --port: 'x' is not a port (0-65535)"),
        (["--port", "65536"], "'65536' is not a port"),
        (["--port"], "argument --port: expected one argument"),
        (["--secure=yes"], "argument --secure: it takes no value; leave 'yes' out"),
        (["a.b=3"], "unknown argument a.b=3; options are set by -o a.b=3"),
        (["--a.b=3"], "unknown argument --a.b=3; options are set by -o a.b=3"),
        (["--override", "a.b=3"], "it is called -o here, as in -o num.partitions=3"),
        (["--port", "x", "--override", "a.b=3"], "unknown argument --override; it is"),
        (["--host", "h:92"], "is a host and a port; write --host h --port 92"),
        (["--host", "kafka://h"], "'kafka://h' is not a host"),
        (["--po", "1"], "unknown argument --po; did you mean --port?"),
    ],
)
def test_every_mistake_is_one_line_and_code_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        a_parser().parse(arguments)
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith("odradek serve: ")
    assert complaint in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["name", "--lates"], "unknown argument --lates; did you mean --latest?"),
        (["name", "--lates=1"], "unknown argument --lates=1; did you mean --latest?"),
        (["--lates"], "unknown argument --lates; did you mean --latest?"),
        (["name"], "one of the arguments --latest --earliest is required"),
        (["--latest"], "the following arguments are required: NAME"),
    ],
)
def test_what_is_missing_may_be_there_with_a_typo(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = Parser("reset", "Resets.")
    parser.add_argument("name", metavar="NAME")
    one_of = parser.add_mutually_exclusive_group(required=True)
    one_of.add_argument("--latest", action="store_true")
    one_of.add_argument("--earliest", action="store_true")
    with pytest.raises(SystemExit) as ended:
        parser.parse(arguments)
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert complaint in line
    assert line.count("\n") == 1


def test_a_file_of_options_is_named() -> None:
    parser = Parser("serve", "Serves.")
    parser.add_argument("--config")
    assert "by --config a.properties" in complaint_of(parser, ["a.properties"])
    assert "unknown argument a.txt (see" in complaint_of(parser, ["a.txt"])


def complaint_of(parser: Parser, arguments: list[str]) -> str:
    error = io.StringIO()
    with contextlib.redirect_stderr(error), pytest.raises(SystemExit):
        parser.parse(arguments)
    return error.getvalue()


def test_options_may_stand_between_many_names() -> None:
    parser = Parser("read", "Reads.")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--exit", action="store_true")
    assert parser.parse(["a", "--exit", "b", "c"]).names == ["a", "b", "c"]
    assert parser.parse(["--exit", "a", "b"]).names == ["a", "b"]
    assert "unknown argument --exti" in complaint_of(parser, ["a", "--exti", "b"])
    assert "unknown argument -x (see" in complaint_of(parser, ["a", "-x", "b"])


def test_values_are_read() -> None:
    values = a_parser().parse(["--port", "0", "--data-dir", "x"])
    assert (values.port, values.data_dir, values.color) == (0, "x", None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30s", 30),
        ("500ms", 0.5),
        ("2m", 120),
        ("1h", 3600),
        ("2d", 172_800),
        ("3", 3),
        ("0.5s", 0.5),
    ],
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "s", "-1s", "1w", "1s2m", "1 s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write it like 30s"):
        seconds(text)


def test_durations_are_such_that_a_request_can_say_them() -> None:
    assert seconds("500h") * 1000 < 1 << 31
    with pytest.raises(argparse.ArgumentTypeError, match="too long; at most 500h"):
        seconds("99999999999999999999")


def test_errors_are_red_where_colors_are_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = a_parser().parse(["--color", "always"])
    assert options.color == "always"
    fail("serve", 1, "it is late")
    assert capsys.readouterr().err == "\x1b[1;31modradek serve:\x1b[0m it is late\n"
    a_parser().parse([])  # the choice is that of one command
    fail("serve", 1, "it is late")
    assert capsys.readouterr().err == "odradek serve: it is late\n"


def test_a_program_is_told_of_a_mistake_in_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser = a_parser()
    json_argument(parser, "one object")
    with pytest.raises(SystemExit):
        parser.parse(["--json", "--prot", "1"])
    out, err = capsys.readouterr()
    message = "unknown argument --prot; did you mean --port?"
    error = {"code": "USAGE", "message": message, "what": None}
    assert json.loads(out) == {"error": error}
    assert err.startswith(f"odradek serve: {message}")
    with pytest.raises(SystemExit):  # who does not know it cannot answer so
        a_parser().parse(["--json"])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "fe80::1", ""])
def test_what_can_be_a_host_is_one(name: str) -> None:
    assert host(name) == name
