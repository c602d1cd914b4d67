"""The notebooks in examples/notebooks do what they say, cell by cell."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.ipynb")))
def test_cells_run(
    spark: "SparkSession",
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setenv("BROKERS", broker_process.address)
    monkeypatch.setenv("TOPIC", topic)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((FOLDER / name).read_text())
    names: dict[str, object] = {}
    codes = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert len(codes) > 3
    for number, cell in enumerate(codes):
        assert cell["outputs"] == [], "notebooks are kept without what they printed"
        text = "".join(cell["source"])
        exec(compile(text, f"{name}, code {number}", "exec"), names)
    made = cluster.metadata([topic, f"{topic}-upper"])
    assert set(made.topics) == {topic, f"{topic}-upper"}
    assert names["table"].count() == 1000  # type: ignore[attr-defined]
