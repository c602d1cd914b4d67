"""The wheel, used from a folder in which all our names are taken."""

import compileall
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pyarrow.parquet
import pytest

from odradek.broker.cli.main import BUILT_IN
from odradek.broker.cli.node.extensions import expected
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.built import PACKAGES, build_source_distribution, build_wheel
from tests.client.live import connected
from tests.pipeline import feeding
from tests.testing.inner import WITHOUT_HYPOTHESIS

ROOT = Path(__file__).parents[2]
TAKEN = (
    *("protocol", "client", "storage", "objects", "broker", "pipeline", "terminal"),
    "testing",
)

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


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is here, as it is built for a release."""
    return build_source_distribution(tmp_path_factory.mktemp("source"))


def unpacked_wheel(source: Path, folder: Path, compiler: str | None = None) -> Path:
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(build_wheel(source, folder, compiler)) as archive:
        archive.extractall(unpacked)
    return unpacked


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    unpacked = unpacked_wheel(source, tmp_path_factory.mktemp("wheel"))
    # As pip does it: Spark gives a worker 10 s to start.
    compileall.compile_dir(unpacked, quiet=2)
    return unpacked


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
    expected |= {path for path in ours if path.parts[0] in PACKAGES}
    assert {path.relative_to(wheel) for path in wheel.rglob("*.py")} == expected
    for name in ("protocol/speedups", "broker/durability/sync_thread"):
        assert list((wheel / "odradek").glob(f"{name}*.so"))


IN_A_TEST = """
import broker, client, testing  # the user's own
import odradek.testing as kit

def test_it(odradek, odradek_topic):
    odradek_topic.delete()
    assert kit.__file__.startswith({wheel!r})
"""


def test_the_plugin_for_pytest_is_in_the_wheel(wheel: Path, taken: Path) -> None:
    (taken / "test_it.py").write_text(IN_A_TEST.format(wheel=str(wheel)))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *WITHOUT_HYPOTHESIS],
        cwd=taken,
        env=environment(wheel),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_one_wheel_is_for_every_python(wheel: Path) -> None:
    (said,) = wheel.glob("*.dist-info/WHEEL")
    fields = Parser().parsestr(said.read_text())
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert fields.get_all("Tag") == [f"cp311-abi3-{platform}"]
    assert fields["Root-Is-Purelib"] == "false"
    built = list(wheel.rglob("*.so"))
    assert len(built) == len(expected())
    assert all(path.name.endswith(".abi3.so") for path in built)


OTHERS = [
    name
    for minor in range(11, 16)
    if minor != sys.version_info.minor
    if (name := shutil.which(f"python3.{minor}"))
    if subprocess.run([name, "-c", ""], capture_output=True).returncode == 0
]


@pytest.mark.skipif(not OTHERS, reason="needs another Python on the PATH")
def test_what_this_python_built_others_load(wheel: Path) -> None:
    program = (
        "import odradek.protocol.speedups as speedups\n"
        "import odradek.broker.durability.sync_thread as thread\n"
        "speedups.index_records(b'', 0, bytearray())\n"
        "assert thread.start"
    )
    for python in OTHERS:
        run = subprocess.run(
            [python, "-c", program],
            env={"PYTHONPATH": str(wheel)},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, (python, run.stderr)


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


@pytest.mark.long
@pytest.mark.usefixtures("spark_java")
@pytest.mark.parametrize("master", ["local[1]", "local-cluster[2,1,1024]"])
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


@pytest.mark.long
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


@pytest.mark.long
def test_without_a_compiler_the_wheel_is_slower_and_works(
    source: Path, tmp_path: Path, taken: Path
) -> None:
    wheel = unpacked_wheel(source, tmp_path, compiler="false")
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
