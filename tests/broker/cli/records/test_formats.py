import json
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.records.formats import text_of
from odradek.client.cluster import Cluster
from tests.broker.cli.conftest import Shell
from tests.broker.cli.records.test_produce import typed
from tests.client.live import create_topic
from tests.client.schemas.test_avro import ORDER, SHOWN
from tests.client.schemas.test_protobuf import schema
from tests.pipeline.fake_registry import FakeRegistry

Captured = pytest.CaptureFixture[str]
LINE = json.dumps(SHOWN, ensure_ascii=False)


def test_numbers_and_hex(cluster: Cluster, shell: Shell, tmp_path: Path) -> None:
    create_topic(cluster, "formats-plain", 1)
    as_ = ("--key-format", "int64", "--value-format", "hex", "-K:")
    with typed(tmp_path, b"7:00ff\n-1:01\n"):
        shell.run("produce", "formats-plain", *as_)
    assert shell.run("consume", "formats-plain", "-e", *as_) == ["7:00ff", "-1:01"]
    found = shell.run_json("consume", "formats-plain", "-e", *as_[:4])
    assert [(each["key"], each["value"]) for each in found] == [(7, "00ff"), (-1, "01")]
    key_only = shell.run("consume", "formats-plain", "-e", *as_[:2], "-f", r"%k %S\n")
    assert key_only == ["7 2", "-1 1"]


def test_a_line_that_is_not_of_the_format(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, "formats-bad", 1)
    with typed(tmp_path, b"{}\n{\n"):
        shell.run("produce", "formats-bad", "--value-format", "json", code=1)
    assert "line 2: value: Expecting property name" in shell.error
    assert "1 written" in shell.error


def test_what_cannot_be_shown_is_written_as_it_came(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, "formats-raw", 1)
    with typed(tmp_path, b'{"a":   1}\nplain\n'):
        shell.run("produce", "formats-raw")
    consume = ("consume", "formats-raw", "-e", "--value-format", "json")
    assert shell.run(*consume, code=1) == ['{"a": 1}', "plain"]
    assert "formats-raw-0 offset 1: value: Expecting value" in shell.error


def test_avro_of_a_registry_and_back(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, "formats-avro", 1)
    with FakeRegistry({4: ORDER}, {"formats-avro-value": 4}) as fake:
        by = ("--value-format", "avro", "--registry", fake.url)
        with typed(tmp_path, LINE.encode() + b"\n"):
            shell.run("produce", "formats-avro", *by)
        consume = ("consume", "formats-avro", "-e", *by)
        (line,) = shell.run(*consume)
        assert json.loads(line) == SHOWN
        (found,) = shell.run_json(*consume)
        assert (found["key"], found["value"]) == (None, SHOWN)
        with typed(tmp_path, json.dumps(found).encode() + b"\n"):
            shell.run("produce", "formats-avro", "--json-lines", *by)
        assert shell.run(*consume) == [line, line]
        assert set(fake.headers) == {None}
        host = fake.url.removeprefix("http://")
        by = ("--value-format", "avro", "--registry", f"http://me:a%40b@{host}")
        shell.run("consume", "formats-avro", "-e", *by)
        assert fake.headers[-1] == "Basic bWU6YUBi"
    shell.run(*consume, code=1)
    assert f"consume: the registry {fake.url}: " in shell.error


def test_avro_of_a_file(cluster: Cluster, shell: Shell, tmp_path: Path) -> None:
    create_topic(cluster, "formats-file", 1)
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(ORDER))
    by = ("--value-format", "avro", "--value-schema", str(path))
    with typed(tmp_path, LINE.encode()):
        shell.run("produce", "formats-file", *by)
    (line,) = shell.run("consume", "formats-file", "-e", *by)
    assert json.loads(line) == SHOWN


def test_protobuf_of_the_registry_in_the_environment(
    cluster: Cluster, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(cluster, "formats-proto", 1)
    with FakeRegistry({9: schema()}, {"formats-proto-value": 9}) as fake:
        monkeypatch.setenv("ODRADEK_REGISTRY", fake.url)
        by = ("--value-format", "protobuf", "--value-message", "shop.Order")
        with typed(tmp_path, b'{"id": 7, "customer": "c"}\n'):
            shell.run("produce", "formats-proto", *by)
        (line,) = shell.run("consume", "formats-proto", "-e", *by[:2])
        assert json.loads(line) == {"id": "7", "customer": "c"}


def test_json_of_a_registry_has_a_prefix(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    create_topic(cluster, "formats-json", 1)
    (tmp_path / "value").write_bytes(b'\0\0\0\0\1{"a": 1}')
    shell.run("produce", "formats-json", "--file", str(tmp_path / "value"))
    consume = ("consume", "formats-json", "-e", "--value-format", "json")
    assert shell.run(*consume, "--registry", "http://x") == ['{"a": 1}']


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["--value-format", "avro"], "needs --registry http://localhost:8081, or --v"),
        (["--key-format", "arvo"], "invalid choice: 'arvo'"),
        (["--key-format", "avro", "--key-schema", "/no"], "/no: No such file"),
        (["--value-format", "avro", "--registry", "x"], "not a URL of http"),
        (
            ["--value-format", "avro", "--value-schema", "{bad}"],
            "bad: the schema is no",
        ),
        (["--value-format", "protobuf", "--value-schema", "{bad}"], "name the message"),
    ],
)
def test_what_a_format_lacks(
    given: list[str], complaint: str, capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "bad").write_text("x")
    given = [each.format(bad=tmp_path / "bad") for each in given]
    for command in "consume", "produce":
        with pytest.raises(SystemExit) as ended:
            main([command, "t", *given])
        assert ended.value.code == 2
        assert complaint in capsys.readouterr().err


def test_a_library_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastavro", None)
    by = ("--value-format", "avro", "--registry", "http://x")
    with pytest.raises(SystemExit) as ended:
        main(["consume", "t", *by])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "odradek consume: the format needs the package fastavro: pip install fastavro\n"
    )


def test_what_is_not_text_is_json() -> None:
    assert text_of("é") == "é".encode()
    assert text_of({"a": "é"}) == '{"a": "é"}'.encode()
    assert text_of(None) == b"null"
