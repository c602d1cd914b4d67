"""The wheel, used from a folder in which all our names are taken."""

import compileall
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow.parquet
import pytest

from odradek.broker.cli.main import BUILT_IN
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.client.live import connected
from tests.pipeline import feeding

ROOT = Path(__file__).parents[2]
# A copy follows the links in odradek/: what is beside it need not be copied.
BUILT = ("odradek", "pyspark_odradek")
TAKEN = ("protocol", "client", "storage", "broker", "pipeline", "terminal")

SCRIPT = """
import json, sys
import broker, client, pipeline, protocol, storage  # the user's own
from pyspark.sql import SparkSession

address, topic, checkpoint, master = sys.argv[1:]
spark = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "512m")
    .config("spark.python.authenticate.socketTimeout", "600s")
    .getOrCreate()
)
spark.sparkContext.addPyFile("protocol.py")  # executors run elsewhere
options = {"kafka.bootstrap.servers": address, "subscribe": topic}
batch = spark.read.format("odradek").options(**options).load()
values = batch.selectExpr("cast(value as string) as value").rdd
own = values.map(lambda row: protocol.shout(row.value)).collect()
streamed = []
query = (
    spark.readStream.format("odradek")
    .options(startingOffsets="earliest", **options)
    .load()
    .writeStream.foreachBatch(lambda frame, _: streamed.append(frame.count()))
    .option("checkpointLocation", checkpoint)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
import pyspark_odradek
print(json.dumps([sorted(own), sum(streamed), pyspark_odradek.__file__]))
spark.stop()
"""


def build_wheel(folder: Path, compiler: str | None = None) -> Path:
    """The wheel of what is here, unpacked, as ``pip wheel .`` makes it."""
    source, unpacked = folder / "source", folder / "unpacked"
    built = shutil.ignore_patterns("__pycache__", "*.so")
    for name in BUILT:
        shutil.copytree(ROOT / name, source / name, ignore=built)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "-w", str(folder)]
    command += ["--no-build-isolation", "--no-deps", "--no-index", str(source)]
    environment = {**os.environ, **({"CC": compiler} if compiler else {})}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    # As pip does it: Spark gives a worker 10 s to start.
    compileall.compile_dir(unpacked, quiet=2)
    return unpacked


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """A folder of a user, who knows nothing of ours."""
    folder = tmp_path / "job"
    folder.mkdir()
    for name in (*TAKEN, "odradek_something"):
        (folder / f"{name}.py").write_text("def shout(text): return text.upper()\n")
    return folder


def environment(wheel: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(wheel),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def test_two_names_are_installed_and_every_module_once(wheel: Path) -> None:
    installed = {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"}
    assert installed == {"odradek", "pyspark_odradek"}
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True
    )
    folders = {path.name for path in (ROOT / "odradek").iterdir() if path.is_symlink()}
    ours = {Path(name) for name in listed.stdout.splitlines()}
    expected = {Path("odradek", path) for path in ours if path.parts[0] in folders}
    expected |= {path for path in ours if path.parts[0] in BUILT}
    assert {path.relative_to(wheel) for path in wheel.rglob("*.py")} == expected
    for name in ("protocol/speedups", "broker/durability/sync_thread"):
        assert list((wheel / "odradek").glob(f"{name}*.so"))


def test_every_command_runs_where_all_names_are_taken(
    wheel: Path, taken: Path, broker_process: BrokerProcess, topic: str
) -> None:
    """The user's folder is even on the path of modules."""
    paths = {**environment(wheel), "PYTHONPATH": f"{taken}{os.pathsep}{wheel}"}

    def run(*words: str, said: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "odradek", *words],
            cwd=taken,
            env=paths,
            input=said,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    server = ("--bootstrap-server", broker_process.address)
    run("topic", "create", topic, *server)
    run("produce", topic, *server, said="one\ntwo\n")
    assert run("consume", topic, "-e", *server) == "one\ntwo\n"
    for name in BUILT_IN:
        assert run(name, "--help")


@pytest.mark.usefixtures("spark_java")
@pytest.mark.parametrize(
    "master",
    ["local[1]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.long)],
)
def test_a_script_of_the_user_runs_where_all_names_are_taken(
    wheel: Path,
    taken: Path,
    broker_process: BrokerProcess,
    topic: str,
    spark_home: Path,
    master: str,
) -> None:
    feeding.create(broker_process.address, topic, 2)
    feeding.send(broker_process.address, topic, [b"a", b"b"], 0)
    feeding.send(broker_process.address, topic, [b"c"], 1)
    (taken / "job.py").write_text(SCRIPT)
    arguments = [broker_process.address, topic, str(taken / "checkpoint"), master]
    run = subprocess.run(
        [sys.executable, "job.py", *arguments],
        cwd=taken,
        env={**environment(wheel), "SPARK_HOME": str(spark_home)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-5000:]
    own, streamed, place = json.loads(run.stdout.splitlines()[-1])
    assert (own, streamed) == (["A", "B", "C"], 3)
    assert Path(place).is_relative_to(wheel)


JOB = """
name = "job"
[source]
bootstrap_servers = "{address}"
topics = ["{topic}"]
[value]
format = "string"
[table]
path = "sunk"
"""
# One after the other in one process: Java starts once.
COMMANDS = """
import json, sys
from odradek.broker.cli.main import main

for command in json.loads(sys.argv[1]):
    code = main(["pipeline", *command])
    assert code == 0, (command, code)
"""


@pytest.mark.usefixtures("spark_java")
def test_the_commands_run_where_all_names_are_taken(
    wheel: Path, taken: Path, broker_process: BrokerProcess, topic: str
) -> None:
    address = broker_process.address
    feeding.create(address, topic)
    feeding.create(address, f"{topic}-copy")
    feeding.send(address, topic, [b"a", b"b", b"c"])
    (taken / "job.toml").write_text(JOB.format(address=address, topic=topic))
    server = ["--bootstrap-server", address]
    small = ["--master", "local[1]", "--conf", "spark.driver.memory=512m"]
    load = ["--table", "exported", "--topic", f"{topic}-copy", "--job", topic]
    commands = [
        ["export", topic, "exported", *server, *small],
        ["sink", "once", "job.toml"],
        ["load", *load, *server, *small],
    ]
    # As the script `odradek` does it, which has no current folder on its path.
    run = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=taken,
        env=environment(wheel),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, (run.stdout, run.stderr[-5000:])
    found = [
        pyarrow.parquet.read_table(taken / name).column("value").to_pylist()
        for name in ("exported", "sunk")
    ]
    assert sorted(found[0]) == [b"a", b"b", b"c"]
    assert sorted(found[1]) == ["a", "b", "c"]
    with connected(broker_process.port) as cluster:
        place = TopicPartition(f"{topic}-copy", 0)
        ends = list_offsets(cluster, {place: LATEST}, committed=True).found
    assert ends[place].offset >= 3


def test_without_a_compiler_the_wheel_is_slower_and_works(
    tmp_path: Path, taken: Path
) -> None:
    wheel = build_wheel(tmp_path, compiler="false")
    assert not list(wheel.rglob("*.so"))
    program = (
        "from odradek.pipeline.source.options import read_options\n"
        "from odradek.protocol.records import NewRecord, build_batch, iterate\n"
        "batch = build_batch([NewRecord(None, b'x')])\n"
        "print([record.value for record in iterate(batch)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=taken,
        env=environment(wheel),
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == "[b'x']", run.stderr
