"""Each extra is enough for what it is for: in a process that has it alone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broker_process import BrokerProcess
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import far_server, far_store, server
from tests.pipeline import feeding, installed_extra
from tests.pipeline.installed_extra import ROOT
from tests.pipeline.values.test_avro import NEW, encoded
from tests.pipeline.values.test_protobuf import order, order_file

__all__ = ["far_server", "far_store", "server"]
EXTRAS = ("pipeline", "connect", "delta", "iceberg", "avro", "protobuf")
# One after the other in one process: Java starts once.
COMMANDS = """
import json, sys
from odradek.broker.cli.main import main

for command in json.loads(sys.argv[1]):
    code = main(["pipeline", *command])
    assert code == 0, (command, code)
"""
TABLE = """
import sys
import pyarrow as pa
from odradek.pipeline.tables.table import open_table
from odradek.pipeline.tables.files import TableSource

kind, location = sys.argv[1:]
table = open_table(kind, location, "job")
table.create(pa.schema([("n", pa.int64())]))
assert table.exists() and table.last_commit("job") is None
table.close()
assert TableSource(kind, location, {}).files(None) == []
"""
STORED = """
import sys
import pyarrow as pa
from odradek.pipeline.tables.table import open_table

kind, location, catalog = sys.argv[1:]
options = {"type": "sql", "uri": catalog} if kind == "iceberg" else {}
table = open_table(kind, location, "job", options)
table.create(pa.schema([("n", pa.int64())]))
assert table.exists() and table.last_commit("job") is None
table.close()
"""
OBJECTS = """
from odradek.broker.cli.main import main
from odradek.objects.opening import open_store, read_settings

store = open_store(read_settings("s3://lake/t", {}))
assert store.put_if_absent("t/a", b"1") and not store.put_if_absent("t/a", b"2")
assert main(["pipeline", "export", "t", "s3://lake/t"]) == 1
"""
VALUES = """
import json, sys
import pyarrow as pa
from odradek.pipeline.values.decoding import ValueFormat

how, value = json.loads(sys.argv[1]), bytes.fromhex(sys.argv[2])
found = ValueFormat(**how).decoder().decode(pa.array([value], pa.binary()))
assert found.columns.field("id").to_pylist() == [7], found
"""
CONNECTED = """
from pyspark.sql.connect.client import DefaultChannelBuilder, SparkConnectClient

SparkConnectClient(DefaultChannelBuilder("sc://127.0.0.1:1")).close()
"""
IMPORTED = """
import importlib.util, json, sys

names = json.loads(sys.argv[1])
print(json.dumps([name for name in names if importlib.util.find_spec(name)]))
"""


def run(folder: Path, script: str, *arguments: str) -> str:
    """What the script prints, in a process that sees what is in the folder alone."""
    python = folder.with_name("python")
    if not folder.exists():
        raise AssertionError(folder)
    done = subprocess.run(
        [str(python), "-c", script, *arguments],
        env=installed_extra.environment(folder, python),
        cwd=folder.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-5000:]
    return done.stdout


def linked(folder: Path, *extras: str) -> Path:
    """A folder with these extras alone, and a Python for it beside."""
    installed_extra.link(folder, *extras)
    installed_extra.python_script(folder, folder.with_name("python"))
    return folder


def value_files(folder: Path) -> dict[str, tuple[dict[str, Any], bytes]]:
    """For each format of values how they are read, and one of them."""
    from google.protobuf import descriptor_pb2

    avro, protobuf = folder / "order.avsc", folder / "shop.desc"
    avro.write_text(json.dumps(NEW))
    files = descriptor_pb2.FileDescriptorSet(file=[order_file()])
    protobuf.write_bytes(files.SerializeToString())
    return {
        "json": ({"schema": "id BIGINT"}, b'{"id": 7}'),
        "avro": ({"schema_file": str(avro)}, encoded(NEW, id=7)),
        "protobuf": (
            {"schema_file": str(protobuf), "message": "shop.Order"},
            order(id=7),
        ),
    }


@pytest.mark.parametrize("extra", EXTRAS)
def test_nothing_else_can_be_imported(tmp_path: Path, extra: str) -> None:
    """What tests install besides, nothing of an extra leans on."""
    links = linked(tmp_path / "links", extra)
    own = {"delta": "deltalake", "iceberg": "pyiceberg", "avro": "fastavro"}
    others = ["setuptools", "pkg_resources", "packaging", "pytest", "duckdb", "kafka"]
    asked = [*others, *own.values(), "pyspark", "pandas", "pyspark_odradek"]
    found = json.loads(run(links, IMPORTED, json.dumps(asked)))
    expected = [own[extra]] if extra in own else []
    assert found == [*expected, "pyspark", "pandas", "pyspark_odradek"]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_format_alone(tmp_path: Path, kind: str) -> None:
    run(linked(tmp_path / "links", kind), TABLE, kind, str(tmp_path / "table"))


def test_stores_alone(tmp_path: Path, server: ObjectServer) -> None:
    """Commands of the pipeline say that they need more."""
    run(linked(tmp_path / "links", "objects"), OBJECTS)
    assert server.content("t/a") == b"1"


@pytest.mark.parametrize(
    "kind",
    [
        "parquet",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("delta", "iceberg")),
    ],
)
def test_a_table_format_and_stores(
    tmp_path: Path, kind: str, far_server: ObjectServer
) -> None:
    extra = "pipeline" if kind == "parquet" else kind
    catalog = f"sqlite:///{tmp_path}/catalog.db"
    links = linked(tmp_path / "links", extra, "objects")
    run(links, STORED, kind, f"s3://lake/{kind}", catalog)
    assert far_server.names(f"{kind}/")


def test_a_client_of_spark_connect_alone(tmp_path: Path) -> None:
    """All that a session imports is there."""
    run(linked(tmp_path / "links", "connect"), CONNECTED)


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_a_value_format_alone(tmp_path: Path, form: str) -> None:
    how, value = value_files(tmp_path)[form]
    how["format"] = form
    run(linked(tmp_path / "links", form), VALUES, json.dumps(how), value.hex())


def commands(extra: str, address: str, topic: str, folder: Path) -> list[list[str]]:
    """The doctor, and an export of what was just sent in a format of the extra."""
    form = extra if extra in ("avro", "protobuf") else "json"
    kind = extra if extra in ("delta", "iceberg") else "parquet"
    how, value = value_files(folder)[form]
    feeding.create(address, topic)
    feeding.send(address, topic, [value] * 3)
    small = ["--master", "local[1]", "--conf", "spark.driver.memory=512m"]
    server = ["--bootstrap-server", address]
    given = [f"--{name.replace('_', '-')}={text}" for name, text in how.items()]
    given += ["--value-format", form, "--table-format", kind]
    table = str(folder / "exported")
    feeding.create(address, f"{topic}-copy")
    load = ["--table", table, "--format", kind, "--topic", f"{topic}-copy"]
    return [
        ["doctor", *server, *small],
        ["export", topic, table, *server, *small, *given],
        ["load", *load, "--job", topic, *server, *small],
    ]


@pytest.mark.long
@pytest.mark.usefixtures("spark_java")
@pytest.mark.parametrize("extra", EXTRAS)
def test_the_commands_of_an_extra_alone(
    broker_process: BrokerProcess, topic: str, tmp_path: Path, extra: str
) -> None:
    links = linked(tmp_path / "links", extra)
    wanted = commands(extra, broker_process.address, topic, tmp_path)
    said = run(links, COMMANDS, json.dumps(wanted))
    assert "all is well" in said
    assert f"{topic}-copy: 3 records" in said


@pytest.mark.long
@pytest.mark.usefixtures("spark_java")
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_that_pip_installs_alone(
    broker_process: BrokerProcess, topic: str, tmp_path: Path, extra: str
) -> None:
    source = tmp_path / "source"
    built = shutil.ignore_patterns("__pycache__", "*.so")
    for name in installed_extra.OWN:
        shutil.copytree(ROOT / name, source / name, ignore=built)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{source}[{extra}]"], check=True)
    wanted = commands(extra, broker_process.address, topic, tmp_path)
    environment = {**os.environ, "PYSPARK_PYTHON": str(python)}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python), "-P", "-c", COMMANDS, json.dumps(wanted)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-5000:]
    assert "all is well" in done.stdout
