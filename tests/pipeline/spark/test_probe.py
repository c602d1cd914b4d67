import json
import pickle
import socket
from pathlib import Path

import pytest

from odradek.pipeline.security.access import Access
from odradek.pipeline.spark.probe import Question, answer
from tests.broker_process import BrokerProcess


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_packages() -> None:
    found = answer(Question(("odradek", "numpy", "json", "token", "no_such_thing")))[
        "packages"
    ]
    assert found["odradek"]
    assert found["numpy"]
    assert found["json"] == json.__version__
    assert found["token"] == "of no version"
    assert found["no_such_thing"] is None


def test_the_way_to_a_broker(broker_process: BrokerProcess, closed_port: int) -> None:
    there, nowhere = ("127.0.0.1", broker_process.port), ("127.0.0.1", closed_port)
    access = pickle.dumps(Access())
    for packages in ((), ("odradek",)):
        assert answer(Question(packages, (nowhere, there), access))["broker"] == ""
        said = answer(Question(packages, (nowhere,), access))["broker"]
        assert said.startswith(f"127.0.0.1:{closed_port}: ")


def test_the_way_to_the_driver(closed_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert answer(Question(driver=server.getsockname()))["driver"] == ""
    said = answer(Question(driver=("127.0.0.1", closed_port)))["driver"]
    assert said == f"127.0.0.1:{closed_port}: Connection refused"


def test_a_shared_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("token")
    assert answer(Question(shared=str(file), token="token"))["shared"] == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    said = answer(Question(shared=str(file), token="another"))["shared"]
    assert said == f"{file} is another file here"
    said = answer(Question(shared=f"{file}s", token="token"))["shared"]
    assert said == f"{file}s: No such file or directory"
